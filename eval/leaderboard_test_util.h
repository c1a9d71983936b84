// Records for the tests of the leaderboard and of its writers.
#ifndef LRA_EVAL_LEADERBOARD_TEST_UTIL_H_
#define LRA_EVAL_LEADERBOARD_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/leaderboard.h"
#include "eval/run_record.h"
#include "eval/sums.h"

namespace lra::testing {

inline void SetCorrect(int64_t correct, SplitResult* result) {
  (*result->mutable_sums()->mutable_counts())[kCorrect] = correct;
}

struct RunSpec {
  std::string method = "linear";
  std::string task = "listops";
  uint32_t seed = 0;
  int64_t correct = 700;
  RunRecord::Kind kind = RunRecord::MEASURED;
  std::string data = "aaaa0123456789";  // fingerprint of the test split
};

// A run of `fair@1`, `small`, with train.steps overridden, scored on 2,000 test examples.
inline LocatedRecord MakeRun(const RunSpec& spec) {
  LocatedRecord located;
  located.directory = "runs/" + spec.task + "-" + spec.method + "-s" + std::to_string(spec.seed);
  RunRecord& record = located.record;
  record.set_kind(spec.kind);
  record.set_method(spec.method);
  record.set_seed(spec.seed);
  record.mutable_config()->set_task(spec.task);
  if (spec.kind == RunRecord::MEASURED) {
    record.mutable_config()->set_protocol("fair@1");
    record.mutable_config()->set_preset("small");
    record.mutable_config()->set_seed(spec.seed);
    record.mutable_config()->mutable_attention()->set_name(spec.method);
    record.mutable_config()->mutable_train()->set_steps(150);
    record.mutable_config()->mutable_train()->set_batch_examples(32);
    (*record.mutable_provenance())["train.steps"] = "--set";
    (*record.mutable_provenance())["train.batch_examples"] = "preset small";
    record.set_parameters(123456);
  }
  record.mutable_data()->set_task(spec.task);
  record.mutable_data()->set_task_version(1);
  record.mutable_data()->set_origin("generated");
  record.mutable_data()->set_is_canonical(true);
  (*record.mutable_data()->mutable_split_fingerprint())["test"] = spec.data;
  record.mutable_versions()->set_lra("0.1.0");
  SplitResult* result = record.add_results();
  result->set_split("test");
  result->set_examples(2000);
  (*result->mutable_sums()->mutable_counts())[kTargets] = 2000;
  SetCorrect(spec.correct, result);
  result->set_checkpoint(spec.kind == RunRecord::MEASURED ? kSelectedCheckpoint : "");
  return located;
}

inline LocatedRecord MakeBaseline(const std::string& name, int64_t correct,
                                  const std::string& task = "listops") {
  return MakeRun({.method = name, .task = task, .correct = correct, .kind = RunRecord::BASELINE});
}

// The run, of a task judged by that metric, with so many nats in all.
inline LocatedRecord By(const std::string& metric, LocatedRecord run, double nats = 1000) {
  run.record.mutable_spec()->set_metric_name(metric);
  (*run.record.mutable_results(0)->mutable_sums()->mutable_totals())[kNats] = nats;
  return run;
}

// Their board; an error fails the test and gives one without tables.
inline Leaderboard Build(const std::vector<LocatedRecord>& runs, const std::string& metric = "") {
  LeaderboardOptions options;
  options.metric = metric;
  const auto board = BuildLeaderboard({runs, {}}, {}, options);
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? *board : Leaderboard();
}

inline std::vector<std::string> Methods(const LeaderboardTable& table) {
  std::vector<std::string> methods;
  for (const LeaderboardRow& row : table.rows) methods.push_back(row.method);
  return methods;
}

}  // namespace lra::testing

#endif  // LRA_EVAL_LEADERBOARD_TEST_UTIL_H_
