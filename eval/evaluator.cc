#include "eval/evaluator.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "eval/sequences.h"
#include "lra/check.h"
#include "lra/progress.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

// The examples of each batch.
using Batches = std::vector<std::vector<int64_t>>;

// Calls visit(batch, logits [B, C]) -> absl::Status for each batch.
template <class Visit>
absl::Status ForwardAll(const Classifier& model, const SplitView& split,
                        const EvaluatorOptions& options, const Batches& batches, Visit visit) {
  c10::NoGradGuard no_grad;
  int64_t done = 0, examples = 0;
  for (const std::vector<int64_t>& ids : batches) examples += static_cast<int64_t>(ids.size());
  std::optional<Progress> progress;
  if (!options.quiet && !options.label.empty()) {
    progress.emplace(ProgressOptions{options.label, "examples", examples, 0, options.quiet});
  }
  for (const std::vector<int64_t>& ids : batches) {
    if (options.should_stop && options.should_stop()) {
      return absl::CancelledError(
          absl::StrCat("stopped after ", done, " of ", examples, " ", split.name(), " examples"));
    }
    const HostBatch batch = MakeBatch(split, ids);
    const at::Tensor logits = model.Forward(batch, ForwardContext{}).cpu().contiguous();
    LRA_CHECK(logits.dim() == 2 && logits.size(0) == static_cast<int64_t>(batch.labels.size()));
    LRA_RETURN_IF_ERROR(visit(batch, logits));
    done += batch.batch;
    if (progress) progress->Update(done);
  }
  if (progress) progress->Finish();
  return absl::OkStatus();
}

// Every parts-th batch: they are sorted by length, so that parts take about the same time.
Batches OfPart(Batches plan, const Part& part) {
  if (part.parts == 1) return plan;
  Batches chosen;
  for (size_t i = part.index; i < plan.size(); i += part.parts) chosen.push_back(plan[i]);
  return chosen;
}

// One batch of each of `count` equal parts of the plan.
Batches Spread(const Batches& plan, size_t count, uint32_t seed) {
  static const RandomDomain domain("verify");
  Batches chosen;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * plan.size() / count, end = (i + 1) * plan.size() / count;
    RandomStream stream(seed, domain, {static_cast<uint32_t>(i), 0, 0});
    chosen.push_back(plan[begin + stream.Below(static_cast<uint32_t>(end - begin))]);
  }
  return chosen;
}

// The batches of at least `wanted` examples, 0 = all, of those that are scored.
Batches SampleOf(const SplitView& split, int64_t wanted, uint32_t seed,
                 const EvaluatorOptions& options) {
  const int64_t examples = EvaluatedExamples(split.size(), options.batch_examples,
                                             options.limit_examples, options.drop_last);
  const Batches plan = PlanEvaluation(split, options.batch_examples, examples);
  const auto needed =
      static_cast<size_t>((wanted + options.batch_examples - 1) / options.batch_examples);
  return wanted == 0 || needed >= plan.size() ? plan : Spread(plan, needed, seed);
}

// Whether an example is right or wrong as a whole: data says what is given, and the targets answer
// it. Hidden tokens are no answer.
bool HasAnswers(const SplitView& split) {
  return split.has_prompts() && !split.spec().hides_tokens();
}

// Adds the scores of a batch's tokens to those of its examples.
absl::Status AddTokens(const Metric& metric, const HostBatch& batch, const at::Tensor& logits,
                       int64_t example_count, bool has_answers, ExampleSums* sums) {
  std::vector<int64_t> examples;
  for (int64_t b = 0; b < batch.batch; ++b)
    examples.insert(examples.end(), TargetsOf(batch, b), batch.example_ids[b]);
  LRA_ASSIGN_OR_RETURN(ExampleSums scored,
                       ScoreGuesses(metric, {.logits = {logits.const_data_ptr<float>(),
                                                        static_cast<size_t>(logits.numel())},
                                             .targets = batch.labels,
                                             .classes = static_cast<int>(logits.size(1)),
                                             .examples = examples,
                                             .example_count = example_count}));
  scored.counts[kTokens] = scored.counts[kTargets];
  if (has_answers) CountSequences(&scored);  // a batch holds all targets of its examples
  sums->Add(scored);
  return absl::OkStatus();
}

// The largest logit of each row, in size.
std::vector<float> LargestLogits(const HostBatch& batch, const at::Tensor& logits) {
  const float* next = logits.const_data_ptr<float>();
  std::vector<float> largest(batch.batch);
  for (int64_t b = 0; b < batch.batch; ++b) {
    const float* const end = next + TargetsOf(batch, b) * logits.size(1);
    for (; next < end; ++next) largest[b] = std::max(largest[b], std::abs(*next));
  }
  return largest;
}

absl::StatusOr<Scored> ScoreTokens(const Classifier& model, const SplitView& split,
                                   const Metric& metric, const EvaluatorOptions& options) {
  const int64_t examples = EvaluatedExamples(split.size(), options.batch_examples,
                                             options.limit_examples, options.drop_last);
  Scored scored;
  scored.classes = split.spec().classes();
  scored.examples = examples;
  const bool has_answers = HasAnswers(split);
  const auto add = [&](const HostBatch& batch, const at::Tensor& logits) {
    return AddTokens(metric, batch, logits, examples, has_answers, &scored.sums);
  };
  const Batches plan =
      OfPart(PlanEvaluation(split, options.batch_examples, examples), options.part);
  absl::Status computed = CatchTorch([&] { return ForwardAll(model, split, options, plan, add); });
  if (options.join_sums) computed = options.join_sums(computed, examples, &scored.sums);
  LRA_RETURN_IF_ERROR(computed);
  return scored;
}

}  // namespace

absl::StatusOr<Scored> ScoreSplit(const Classifier& model, const SplitView& split, int64_t classes,
                                  const Metric& metric, const EvaluatorOptions& options) {
  if (split.spec().guesses_tokens()) return ScoreTokens(model, split, metric, options);
  const int64_t examples = EvaluatedExamples(split.size(), options.batch_examples,
                                             options.limit_examples, options.drop_last);
  Scored scored;
  scored.classes = classes;
  scored.examples = examples;
  scored.logits.resize(examples * classes);
  const Batches plan =
      OfPart(PlanEvaluation(split, options.batch_examples, examples), options.part);
  // Places one batch's logits at their examples' rows.
  const auto scatter = [&scored](const HostBatch& batch, const at::Tensor& logits) {
    LRA_CHECK(logits.size(1) == scored.classes);
    const float* source = logits.const_data_ptr<float>();
    for (int64_t b = 0; b < batch.batch; ++b) {
      std::copy_n(source + b * scored.classes, scored.classes,
                  scored.logits.begin() + batch.example_ids[b] * scored.classes);
    }
    return absl::OkStatus();
  };
  absl::Status computed =
      CatchTorch([&] { return ForwardAll(model, split, options, plan, scatter); });
  if (options.join) computed = options.join(computed, &scored.logits);
  LRA_RETURN_IF_ERROR(computed);
  for (int64_t i = 0; i < examples; ++i) scored.labels.push_back(split.label(i));
  LRA_ASSIGN_OR_RETURN(
      scored.sums, ScoreGuesses(metric, {scored.logits, scored.labels, static_cast<int>(classes)}));
  return scored;
}

absl::StatusOr<SampledLogits> PredictSample(const Classifier& model, const SplitView& split,
                                            int64_t classes, int64_t wanted, uint32_t seed,
                                            const EvaluatorOptions& options) {
  SampledLogits sample;
  const auto append = [&](const HostBatch& batch, const at::Tensor& logits) {
    if (logits.size(1) != classes) {
      return absl::InvalidArgumentError(absl::StrCat("the model gives ", logits.size(1),
                                                     " logits an example, must be ", classes));
    }
    const float* source = logits.const_data_ptr<float>();
    sample.examples.insert(sample.examples.end(), batch.example_ids.begin(),
                           batch.example_ids.end());
    sample.logits.insert(sample.logits.end(), source, source + batch.batch * classes);
    return absl::OkStatus();
  };
  const Batches chosen = SampleOf(split, wanted, seed, options);
  LRA_RETURN_IF_ERROR(
      CatchTorch([&] { return ForwardAll(model, split, options, chosen, append); }));
  return sample;
}

absl::StatusOr<SampledScores> ScoreSample(const Classifier& model, const SplitView& split,
                                          const Metric& metric, int64_t wanted, uint32_t seed,
                                          const EvaluatorOptions& options) {
  SampledScores sample;
  ExampleSums all;
  const bool has_answers = HasAnswers(split);
  const auto add = [&](const HostBatch& batch, const at::Tensor& logits) {
    sample.examples.insert(sample.examples.end(), batch.example_ids.begin(),
                           batch.example_ids.end());
    const std::vector<float> largest = LargestLogits(batch, logits);
    sample.largest_logits.insert(sample.largest_logits.end(), largest.begin(), largest.end());
    return AddTokens(metric, batch, logits, split.size(), has_answers, &all);
  };
  const Batches chosen = SampleOf(split, wanted, seed, options);
  LRA_RETURN_IF_ERROR(CatchTorch([&] { return ForwardAll(model, split, options, chosen, add); }));
  sample.sums = all.Pick(sample.examples);
  return sample;
}

}  // namespace lra
