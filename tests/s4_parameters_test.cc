// Holds what S4D trains under protocol and preset `s4` against what the S4 line's own
// configurations train with its diagonal layer, tensor by tensor: tests/data/s4_tensors.tsv has
// theirs with sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/view.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/task_files.h"
#include "models/classifier.h"
#include "tasks/task.h"

namespace lra {
namespace {

// A row of the file. `value` is a size's value or a tensor's shape in letters.
struct Row {
  std::string kind, tasks, name, value, source, ours;
  bool IsAbout(const std::string& task) const {
    const std::vector<std::string> named = absl::StrSplit(tasks, ',');
    return tasks == "*" || std::find(named.begin(), named.end(), task) != named.end();
  }
};

std::vector<Row> ReadRows() {
  std::vector<Row> rows;
  const auto text = ReadFile(LRA_S4_TENSORS);
  EXPECT_TRUE(text.ok()) << text.status();
  for (const absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (line[0] == '#' || cells[0] == "kind") continue;
    EXPECT_EQ(cells.size(), 6u) << line;
    if (cells.size() == 6)
      rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]});
  }
  return rows;
}

// What the letters of shapes stand for.
using Sizes = std::map<std::string, int64_t>;

int64_t NumberOf(absl::string_view word, const Sizes& sizes) {
  int64_t number = 0;
  return absl::SimpleAtoi(word, &number) ? number : sizes.at(std::string(word));
}

// The numbers in a tensor, of all layers together where there is one in each.
int64_t Elements(const Row& tensor, const Sizes& sizes) {
  int64_t elements = absl::StrContains(tensor.name, '*') ? sizes.at("L") : 1;
  for (const absl::string_view word : absl::StrSplit(tensor.value, ' '))
    elements *= NumberOf(word, sizes);
  return elements;
}

// A text that has each of so many code points as often as the view wants to see it.
std::string TextOf(int64_t code_points, int64_t times) {
  constexpr int kFirst = 0x100;  // two bytes in UTF-8
  std::string text;
  for (int64_t i = 0; i < code_points * times; ++i) {
    const int64_t code_point = kFirst + i % code_points;
    text += static_cast<char>(0xC0 | (code_point >> 6));
    text += static_cast<char>(0x80 | (code_point & 0x3F));
  }
  return text;
}

// The task's spec under the view. Where ids are counted in texts, those have as many different code
// points as the original found, beside its marks for padding, unknown and the end.
TaskSpec SpecUnder(const std::string& task, const DataView& view, int64_t original_vocabulary) {
  const auto made = TaskRegistry::Get().Create("task", task, LoadTaskFile(task)->options());
  EXPECT_TRUE(made.ok()) << made.status();
  ViewTransform transform((*made)->Spec(), view);
  if (transform.NeedsVocabulary()) {
    const std::string text = TextOf(original_vocabulary - 3, view.min_code_point_count());
    transform.AddVocabulary(1, [&](int64_t, int) {
      return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    });
  }
  return transform.spec();
}

// The numbers in each tensor that our model trains; those of all layers together under "layer*".
std::map<std::string, int64_t> OurElements(const std::string& task, const Sizes& originals) {
  const auto resolved =
      ResolveExperiment({.task = task, .attention = "s4d", .protocol = "s4", .preset = "s4"});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  const int64_t vocabulary = originals.count("V") > 0 ? originals.at("V") : 0;
  const auto model =
      Classifier::Create(resolved->config, SpecUnder(task, resolved->config.view(), vocabulary));
  EXPECT_TRUE(model.ok()) << model.status();
  std::map<std::string, int64_t> elements;
  for (const Parameter& p : (*model)->parameters().parameters()) {
    std::vector<std::string> parts = absl::StrSplit(p.name, '.');
    for (std::string& part : parts)
      if (absl::StartsWith(part, "layer") && part.size() == 6) part = "layer*";
    elements[absl::StrJoin(parts, ".")] += p.value.numel();
  }
  return elements;
}

class S4ParametersTest : public testing::TestWithParam<std::string> {};

TEST_P(S4ParametersTest, AreThoseOfTheOriginalsDiagonalLayerTensorByTensor) {
  Sizes sizes;
  for (const Row& row : ReadRows())
    if (row.kind == "size" && row.IsAbout(GetParam())) sizes[row.name] = NumberOf(row.value, {});
  std::map<std::string, int64_t> ours = OurElements(GetParam(), sizes);
  int64_t s4_total = 0, s4d_total = 0, our_total = 0;
  for (const auto& [name, elements] : ours) our_total += elements;
  for (const Row& row : ReadRows()) {
    if (row.kind == "size" || !row.IsAbout(GetParam())) continue;
    const int64_t elements = Elements(row, sizes);
    s4_total += elements;
    if (row.kind == "s4_tensor") continue;
    s4d_total += elements;
    EXPECT_EQ(ours[row.ours], elements) << row.name << " (" << row.source << ")";
    ours.erase(row.ours);
  }
  for (const auto& [name, elements] : ours)
    ADD_FAILURE() << name << ": " << elements << " numbers that the original does not train";
  EXPECT_GT(s4d_total, 0);
  EXPECT_EQ(our_total, s4d_total);
  std::cout << "s4 " << GetParam() << ": the original trains " << FormatCount(s4d_total)
            << " numbers with its S4D layer (" << FormatCount(s4_total)
            << " with the low-rank term of S4), ours " << FormatCount(our_total) << "\n";
}

INSTANTIATE_TEST_SUITE_P(Tasks, S4ParametersTest,
                         testing::Values("listops", "text", "retrieval", "image", "pathfinder32",
                                         "pathx"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
