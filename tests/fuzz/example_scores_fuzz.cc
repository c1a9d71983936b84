#include "absl/strings/match.h"
#include "eval/example_scores.h"
#include "eval/statistics.h"
#include "eval/sums.h"
#include "lra/sha256.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// A file of scores that a record names with its digest: how many examples and how many right the
// record claims, then the file.
LRA_FUZZ_TARGET(example_scores) {
  static const lra::FuzzFolder folder("example_scores");
  static const lra::Metric* const accuracy = *lra::FindMetric(lra::kAccuracy);
  const int64_t examples = lra::TakeByte(&input), correct = lra::TakeByte(&input);
  if (examples == 0 || correct > examples) return;  // refused with the record
  lra::SplitResult result;
  result.set_examples(examples);
  auto& counts = *result.mutable_sums()->mutable_counts();
  counts[lra::kCorrect] = correct;
  counts[lra::kTargets] = examples;
  lra::ExampleScores& scores = *result.add_example_scores();
  scores.set_metric(lra::kAccuracy);
  scores.set_file("accuracy.npy");
  scores.set_sha256(lra::Sha256Hex(input));
  folder.Write("accuracy.npy", input);
  const auto values = lra::ReadExampleScores(folder.path(), result, *accuracy);
  if (!values.ok()) {
    LRA_CHECK(absl::StrContains(values.status().message(), "accuracy.npy")) << values.status();
    return;
  }
  LRA_CHECK(values->has_value() && static_cast<int64_t>((*values)->size()) == examples);
  double right = 0;
  for (const double value : **values) {
    LRA_CHECK(value == 0 || value == 1);
    right += value;
  }
  LRA_CHECK(right == static_cast<double>(correct));
}
