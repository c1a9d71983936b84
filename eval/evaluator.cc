#include "eval/evaluator.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "lra/check.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

// Places one batch's logits at their examples' rows.
void ScatterLogits(const HostBatch& batch, const at::Tensor& logits, Scored* scored) {
  const at::Tensor rows = logits.cpu().contiguous();
  LRA_CHECK(rows.dim() == 2 && rows.size(0) == batch.batch && rows.size(1) == scored->classes);
  const float* source = rows.const_data_ptr<float>();
  for (int64_t b = 0; b < batch.batch; ++b) {
    std::copy_n(source + b * scored->classes, scored->classes,
                scored->logits.begin() + batch.example_ids[b] * scored->classes);
  }
}

absl::Status ForwardAll(const Classifier& model, const SplitView& split,
                        const EvaluatorOptions& options, int64_t examples, Scored* scored) {
  c10::NoGradGuard no_grad;
  std::optional<Progress> progress;
  if (!options.quiet && !options.label.empty()) {
    progress.emplace(ProgressOptions{options.label, "examples", examples, 0, options.quiet});
  }
  int64_t done = 0;
  for (const auto& ids : PlanEvaluation(split, options.batch_examples, examples)) {
    if (options.should_stop && options.should_stop()) {
      return absl::CancelledError(
          absl::StrCat("stopped after ", done, " of ", examples, " ", split.name(), " examples"));
    }
    const HostBatch batch = MakeBatch(split, ids);
    ScatterLogits(batch, model.Forward(batch, ForwardContext{}), scored);
    done += batch.batch;
    if (progress) progress->Update(done);
  }
  if (progress) progress->Finish();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Scored> ScoreSplit(const Classifier& model, const SplitView& split, int64_t classes,
                                  const Metric& metric, const EvaluatorOptions& options) {
  const int64_t examples = EvaluatedExamples(split.size(), options.batch_examples,
                                             options.limit_examples, options.drop_last);
  Scored scored;
  scored.classes = classes;
  scored.logits.resize(examples * classes);
  LRA_RETURN_IF_ERROR(
      CatchTorch([&] { return ForwardAll(model, split, options, examples, &scored); }));
  for (int64_t i = 0; i < examples; ++i) scored.labels.push_back(split.label(i));
  LRA_ASSIGN_OR_RETURN(
      scored.sums, ScoreGuesses(metric, {scored.logits, scored.labels, static_cast<int>(classes)}));
  return scored;
}

}  // namespace lra
