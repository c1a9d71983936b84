// Scores a model on a split. Every example counts, unless the protocol leaves the last batch out.
#ifndef LRA_EVAL_EVALUATOR_H_
#define LRA_EVAL_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/split_view.h"
#include "eval/metric.h"
#include "eval/verify_predictions.h"
#include "eval/verify_token_scores.h"
#include "lra/part.h"
#include "models/classifier.h"

namespace lra {

struct EvaluatorOptions {
  int64_t batch_examples = 32;
  // Score the first `limit_examples` only; 0 = all.
  int64_t limit_examples = 0;
  // Whether the last of these examples in data-set order are left out if they do not fill a batch.
  bool drop_last = false;
  // Asked before every batch; unset = never.
  std::function<bool()> should_stop;
  // Progress label; empty or quiet = no progress.
  std::string label;
  bool quiet = true;
  // Where several processes share the work: the batches that this one computes, every parts-th.
  Part part{};
  // Called with what came of them and the logits [examples, C], 0 where another process computes
  // them; fills these in, or returns why there are none. Unset where part is all.
  std::function<absl::Status(const absl::Status& mine, std::vector<float>* logits)> join;
  // Likewise where tokens are guessed: called with the sums of the examples computed here, which
  // are 0 for the others, of `examples` in all; they are empty where no batch was this one's.
  std::function<absl::Status(const absl::Status& mine, int64_t examples, ExampleSums* sums)>
      join_sums;
};

struct Scored {
  ExampleSums sums;
  // Logits and labels of the scored examples, which are the first ones in data-set order. Empty
  // where tokens are guessed: there would be a row of logits for each of them.
  std::vector<float> logits;    // [examples, C]
  std::vector<int32_t> labels;  // [examples]
  int64_t classes = 0;
  int64_t examples = 0;
};

// Scores with the metric's scorer. Internal (naming the example) when a logit is not finite;
// ResourceExhausted when memory runs out; Cancelled when it should stop.
absl::StatusOr<Scored> ScoreSplit(const Classifier& model, const SplitView& split, int64_t classes,
                                  const Metric& metric, const EvaluatorOptions& options);

// The logits of at least `wanted` (0 = all) of the examples that ScoreSplit() would score: of whole
// batches, put together as there, so that one build on one machine gives the same bits. The batches
// are spread over all lengths; `seed` says which they are. Logits that are not finite are returned;
// the errors are otherwise those of ScoreSplit(), and InvalidArgument for a model of other classes.
absl::StatusOr<SampledLogits> PredictSample(const Classifier& model, const SplitView& split,
                                            int64_t classes, int64_t wanted, uint32_t seed,
                                            const EvaluatorOptions& options);

// The scores of such a sample where tokens are guessed, by the metric's scorer. The errors of
// ScoreSplit().
absl::StatusOr<SampledScores> ScoreSample(const Classifier& model, const SplitView& split,
                                          const Metric& metric, int64_t wanted, uint32_t seed,
                                          const EvaluatorOptions& options);

}  // namespace lra

#endif  // LRA_EVAL_EVALUATOR_H_
