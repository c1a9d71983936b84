#include "datasets/classes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "lra/excerpt.h"

namespace lra {
namespace {

constexpr size_t kClassesNamed = 5;
// A small split may lack a rare class; it is told where chance does so less often.
constexpr double kChance = 0.005;

int64_t Examples(const ManifestSplit& split) {
  return std::accumulate(split.label_count().begin(), split.label_count().end(), int64_t{0});
}

// The classes with examples in `split` and none in `other`; with nullptr, all with examples.
std::vector<int> ClassesOf(const ManifestSplit& split, const ManifestSplit* other) {
  std::vector<int> classes;
  for (int label = 0; label < split.label_count_size(); ++label) {
    const bool is_other = other != nullptr && other->label_count(label) > 0;
    if (split.label_count(label) > 0 && !is_other) classes.push_back(label);
  }
  return classes;
}

// "class 0 ("neg"), 2 ("pos")".
std::string ClassesText(const Manifest& manifest, std::vector<int> classes) {
  const size_t more = classes.size() - std::min(classes.size(), kClassesNamed);
  classes.resize(classes.size() - more);
  const auto append = [&manifest](std::string* out, int label) {
    absl::StrAppend(out, label);
    if (label >= manifest.class_names_size()) return;
    absl::StrAppend(out, " (", QuotedName(manifest.class_names(label), kExcerptOfBytes), ")");
  };
  return absl::StrCat("class ", absl::StrJoin(classes, ", ", append),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// Leaves those of train's classes that a split of so many examples would hardly lack by chance.
void LeaveUnlikely(const ManifestSplit& train, const ManifestSplit& split,
                   std::vector<int>* lacking) {
  const auto examples = static_cast<double>(Examples(split));
  const auto all = static_cast<double>(Examples(train));
  const auto share = [&](int label) { return static_cast<double>(train.label_count(label)) / all; };
  const std::vector<int> held = ClassesOf(split, nullptr);
  // One class alone is unlikelier than each of the others' absence.
  if (held.size() == 1 && std::pow(share(held[0]), examples) < kChance) return;
  lacking->erase(
      std::remove_if(lacking->begin(), lacking->end(),
                     [&](int label) { return std::pow(1 - share(label), examples) >= kChance; }),
      lacking->end());
}

void Describe(const Manifest& manifest, const ManifestSplit& train, const ManifestSplit& split,
              std::vector<std::string>* sentences) {
  const std::vector<int> unknown = ClassesOf(split, &train);
  int64_t examples = 0;
  for (const int label : unknown) examples += split.label_count(label);
  if (examples > 0) {
    sentences->push_back(absl::StrCat(examples, " of the ", Examples(split), " examples of ",
                                      split.name(), " have a class that train lacks, ",
                                      ClassesText(manifest, unknown), ": no model can learn it"));
  }
  std::vector<int> lacking = ClassesOf(train, &split);
  LeaveUnlikely(train, split, &lacking);
  if (lacking.empty()) return;
  sentences->push_back(absl::StrCat(split.name(), " lacks ", ClassesText(manifest, lacking),
                                    ", of which train has examples: a score on ", split.name(),
                                    " says nothing of it"));
}

}  // namespace

std::vector<std::string> DescribeClasses(const Manifest& manifest) {
  std::vector<std::string> sentences;
  const ManifestSplit* train = FindSplit(manifest, "train");
  if (train == nullptr || Examples(*train) == 0) return sentences;
  for (const char* name : {"validation", "test"}) {
    const ManifestSplit* split = FindSplit(manifest, name);
    if (split != nullptr && Examples(*split) > 0) Describe(manifest, *train, *split, &sentences);
  }
  return sentences;
}

std::string EmptyClassesNote(const Manifest& manifest) {
  std::vector<int> empty;
  for (int label = 0; label < manifest.spec().classes(); ++label) {
    const auto has_it = [label](const ManifestSplit& split) {
      return split.label_count(label) > 0;
    };
    if (std::none_of(manifest.splits().begin(), manifest.splits().end(), has_it))
      empty.push_back(label);
  }
  if (empty.empty()) return "";
  return absl::StrCat("no split has an example of ", ClassesText(manifest, empty),
                      "; classes are 0 to ", manifest.spec().classes() - 1,
                      empty.front() == 0 ? ": are labels counted from 1?" : "");
}

absl::Status CheckClasses(const Manifest& manifest) {
  const ManifestSplit* train = FindSplit(manifest, "train");
  const ManifestSplit* test = FindSplit(manifest, "test");
  if (train == nullptr || test == nullptr) return absl::OkStatus();
  const std::vector<int> trained = ClassesOf(*train, nullptr), tested = ClassesOf(*test, nullptr);
  const bool share_some = ClassesOf(*test, train).size() < tested.size();
  if (share_some || trained.empty() || tested.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("train and test share no class: train has ", ClassesText(manifest, trained),
                   ", test has ", ClassesText(manifest, tested), "; give both the same labels"));
}

}  // namespace lra
