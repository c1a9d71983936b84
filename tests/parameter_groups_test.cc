// Holds the learning rates and weight decays of S4D's parameters under protocol `s4` against those
// of the original: tests/data/s4_parameter_groups.tsv has them, computed from its configurations.
#include "train/parameter_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

// A row of the file. A parameter that S4D names after its options has several names; "absent" among
// them says that it may be left out.
struct OriginalGroup {
  std::vector<std::string> ours;
  std::string original, source;
  double first_rate = 0, second_rate = 0, largest_rate = 0, weight_decay = 0;
};

double Number(const std::string& text) {
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

std::map<std::string, std::vector<OriginalGroup>> ReadOriginalGroups() {
  std::map<std::string, std::vector<OriginalGroup>> groups;  // by task
  const auto text = ReadFile(LRA_S4_PARAMETER_GROUPS);
  EXPECT_TRUE(text.ok()) << text.status();
  for (const absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (line[0] == '#' || cells[0] == "task") continue;
    EXPECT_EQ(cells.size(), 8u) << line;
    if (cells.size() != 8) continue;
    groups[cells[0]].push_back({absl::StrSplit(cells[1], '|'), cells[2], cells[7], Number(cells[3]),
                                Number(cells[4]), Number(cells[5]), Number(cells[6])});
  }
  return groups;
}

std::vector<ParameterGroup> GroupsOf(const std::string& task) {
  const auto resolved =
      ResolveExperiment({.task = task, .attention = "s4d", .protocol = "s4", .preset = "s4"});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  if (!resolved.ok()) return {};
  const auto groups = ListParameterGroups(resolved->config, MakeTask(task).value()->Spec());
  EXPECT_TRUE(groups.ok()) << groups.status();
  return groups.value_or(std::vector<ParameterGroup>());
}

// Configurations hold float32.
void ExpectSame(double ours, double original, const std::string& what) {
  EXPECT_NEAR(ours, original, 1e-6 * original) << what;
}

void Compare(const std::string& task, const ParameterGroup& ours, const OriginalGroup& original) {
  const std::string where = absl::StrCat(task, " ", ours.name, " (", original.source, "): ");
  ExpectSame(ours.first_rate, original.first_rate, where + "rate at step 0");
  ExpectSame(ours.second_rate, original.second_rate, where + "rate at step 1");
  ExpectSame(ours.largest_rate, original.largest_rate, where + "largest rate");
  ExpectSame(ours.weight_decay, original.weight_decay, where + "weight decay");
  std::cout << absl::StrFormat(
      "%-12s %-38s %-42s rate at step 1 %.4g / %.4g, largest %.4g / %.4g, decay %.4g / %.4g\n",
      task, ours.name, original.original, ours.second_rate, original.second_rate, ours.largest_rate,
      original.largest_rate, ours.weight_decay, original.weight_decay);
}

// Prints ours / the original's.
TEST(ParameterGroupsTest, RatesAndDecaysOfS4dAreTheOriginals) {
  const auto originals = ReadOriginalGroups();
  EXPECT_EQ(originals.size(), 6u);
  for (const auto& [task, rows] : originals) {
    std::map<std::string, ParameterGroup> ours;
    for (const ParameterGroup& group : GroupsOf(task)) ours[group.name] = group;
    for (const OriginalGroup& row : rows) {
      const auto name = std::find_if(row.ours.begin(), row.ours.end(), [&](const auto& n) {
        return n == "absent" || ours.count(n) > 0;
      });
      ASSERT_NE(name, row.ours.end()) << task << " has no " << row.ours[0];
      if (*name == "absent") continue;
      Compare(task, ours[*name], row);
      ours.erase(*name);
    }
    for (const auto& [name, group] : ours) ADD_FAILURE() << task << ": no row for " << name;
  }
}

// ONE_CYCLE's peak is the step before the end of the warm-up.
TEST(ParameterGroupsTest, TheLargestRateIsThatOfTheSchedule) {
  const auto resolved = ResolveExperiment({.task = "listops",
                                           .attention = "nystromformer",
                                           .protocol = "nystrom",
                                           .preset = "nystrom"});
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const auto groups = ListParameterGroups(resolved->config, MakeTask("listops").value()->Spec());
  ASSERT_TRUE(groups.ok()) << groups.status();
  const double rate = resolved->config.schedule().learning_rate();
  for (const ParameterGroup& group : *groups)
    EXPECT_NEAR(group.largest_rate, rate, 1e-9 * rate) << group.name;
}

// Without data nobody knows how many code points there are; bytes stand for them, and the page of
// groups never shows an empty vocabulary.
TEST(ParameterGroupsTest, AVocabularyThatIsCountedInDataIsThatOfBytes) {
  const auto groups = GroupsOf("text");
  const auto token = std::find_if(groups.begin(), groups.end(), [](const ParameterGroup& group) {
    return group.name == "embedding.token.weight";
  });
  ASSERT_NE(token, groups.end());
  EXPECT_GE(token->scalars, 256 * 256);
}

}  // namespace
}  // namespace lra
