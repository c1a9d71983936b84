// Records with scores of examples, on disk, for the tests of tables and comparisons.
#ifndef LRA_EVAL_SCORED_RUNS_TEST_UTIL_H_
#define LRA_EVAL_SCORED_RUNS_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/example_scores.h"
#include "eval/leaderboard_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra::testing {

// Writes the record into its folder, with these values beside it, by which it is given its counts.
inline void StoreScoredRun(const ExampleValues& values, LocatedRecord* located) {
  ASSERT_TRUE(MakeDirectories(located->directory).ok());
  SplitResult* result = located->record.mutable_results(0);
  ExampleSums sums;
  for (const double value : values) {
    sums.counts[kCorrect].push_back(static_cast<int64_t>(value));
    sums.counts[kTargets].push_back(1);
  }
  result->set_examples(static_cast<int64_t>(values.size()));
  *result->mutable_sums() = sums.Total();
  result->set_predictions_file("predictions.npy");
  const Metric* const accuracy = *FindMetric(kAccuracy);
  ASSERT_TRUE(StoreExampleScores(located->directory, result->predictions_file(), {&accuracy, 1},
                                 sums, result)
                  .ok());
  ASSERT_TRUE(WriteRunRecord(located->directory, located->record).ok());
}

// Base of fixtures: records in a folder of their own.
class ScoredRuns : public ::testing::Test {
 protected:
  // Stores the values beside a record of this specification, which is given its counts. `change` is
  // made to the record before.
  void Add(const RunSpec& spec, const ExampleValues& values, void (*change)(RunRecord*) = nullptr) {
    LocatedRecord located = MakeRun(spec);
    if (change != nullptr) change(&located.record);
    located.directory = JoinPath(folder_.path(), absl::StrCat("run", found_.runs.size()));
    StoreScoredRun(values, &located);
    found_.runs.push_back(located);
  }
  void AddRow(const std::string& method, const std::vector<ExampleValues>& runs) {
    for (uint32_t s = 0; s < runs.size(); ++s) Add({.method = method, .seed = s}, runs[s]);
  }
  void AddBaseline(const std::string& name, const ExampleValues& values) {
    Add({.method = name, .kind = RunRecord::BASELINE}, values);
  }
  void AddDiverged(const std::string& method, uint32_t seed, const std::string& task = "listops") {
    LocatedRecord located = MakeRun({.method = method, .task = task, .seed = seed});
    located.directory = JoinPath(folder_.path(), absl::StrCat("run", found_.runs.size()));
    located.record.clear_results();
    located.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
    located.record.mutable_failure()->set_step(120);
    located.record.mutable_failure()->set_cause("the loss is nan");
    ASSERT_TRUE(WriteRunRecord(located.directory, located.record).ok());
    found_.runs.push_back(located);
  }

  TestFolder folder_;
  FoundRuns found_;
};

// n values of which the first `right` are 1.
inline ExampleValues FirstRight(int64_t right, int64_t examples = 2000) {
  ExampleValues values(examples);
  std::fill(values.begin(), values.begin() + right, 1.0);
  return values;
}

}  // namespace lra::testing

#endif  // LRA_EVAL_SCORED_RUNS_TEST_UTIL_H_
