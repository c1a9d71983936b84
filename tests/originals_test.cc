// Holds the protocols against the programs and the paper that they imitate:
// tests/data/originals.tsv has their values with sources, and names each departure with its reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/protocol_rules.h"

namespace lra {
namespace {

// A row of the file. `ours` and `reason` are empty where we follow the original.
struct Original {
  std::string protocol, preset, task, attention, field, value, source, ours, reason;
  std::string Name() const {
    return absl::StrCat(protocol, " ", task, "/", attention, " ", field, " (", source, ")");
  }
};

std::vector<Original> ReadOriginals(const std::string& path) {
  std::vector<Original> rows;
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  for (const absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    EXPECT_EQ(cells.size(), 9u) << line;
    if (cells.size() != 9 || cells[0] == "protocol") continue;
    rows.push_back(
        {cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8]});
  }
  return rows;
}

// Numbers are equal whatever their spelling: 1e-9 and 0.000000001.
bool IsSameValue(const std::string& a, const std::string& b) {
  double x = 0, y = 0;
  if (!absl::SimpleAtod(a, &x) || !absl::SimpleAtod(b, &y)) return a == b;
  return std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
}

// Every field of the experiment that the row is about; "" for those that are unset.
class ResolvedFields {
 public:
  const std::string& Of(const Original& row) {
    const std::string key =
        absl::StrCat(row.protocol, " ", row.preset, " ", row.task, " ", row.attention);
    auto found = experiments_.find(key);
    if (found == experiments_.end()) found = experiments_.emplace(key, Resolve(row)).first;
    return found->second[row.field];
  }

 private:
  static std::map<std::string, std::string> Resolve(const Original& row) {
    const auto resolved = ResolveExperiment({.task = row.task,
                                             .attention = row.attention,
                                             .protocol = row.protocol,
                                             .preset = row.preset});
    EXPECT_TRUE(resolved.ok()) << row.Name() << ": " << resolved.status();
    if (!resolved.ok()) return {};
    const ExperimentConfig& config = resolved->config;
    const auto leaves = LeafFields(config);
    std::map<std::string, std::string> fields(leaves.begin(), leaves.end());
    fields["schedule.warmup_steps"] =
        absl::StrCat(WarmupSteps(config.schedule(), config.train().steps()));
    return fields;
  }
  std::map<std::string, std::map<std::string, std::string>> experiments_;
};

TEST(OriginalsTest, EveryFieldIsTheOriginalsOrDepartsForAReason) {
  ResolvedFields fields;
  struct Count {
    int compared = 0, departures = 0;
  };
  std::map<std::pair<std::string, std::string>, Count> counts;
  for (const Original& row : ReadOriginals(LRA_ORIGINALS)) {
    const std::string& ours = fields.Of(row);
    Count& count = counts[{row.protocol, row.task}];
    ++count.compared;
    if (row.ours.empty()) {
      EXPECT_TRUE(IsSameValue(ours, row.value))
          << row.Name() << ": the original has " << row.value << ", ours is " << ours;
      continue;
    }
    ++count.departures;
    EXPECT_TRUE(IsSameValue(ours, row.ours))
        << row.Name() << ": listed as " << row.ours << ", ours is " << ours;
    EXPECT_FALSE(IsSameValue(row.ours, row.value)) << row.Name() << ": is no departure any more";
    EXPECT_NE(row.reason, "") << row.Name();
  }
  for (const auto& [where, count] : counts) {
    std::cout << where.first << " " << where.second << ": " << count.compared
              << " fields compared, " << count.departures << " depart on purpose\n";
    EXPECT_GE(count.compared, 6) << where.first << " " << where.second;
  }
  EXPECT_EQ(counts.size(), 25u) << "a protocol or a task has no row";
}

}  // namespace
}  // namespace lra
