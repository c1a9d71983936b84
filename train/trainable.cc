#include "train/trainable.h"

#include "datasets/view.h"
#include "eval/metric.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/classifier.h"
#include "models/token_model.h"
#include "train/lengths.h"

namespace lra {
namespace {

// What the view makes of the task. A vocabulary of code points is counted in the data; here that of
// bytes stands for it.
absl::StatusOr<TaskSpec> ViewedSpec(const Manifest& manifest, const DataView& view) {
  LRA_ASSIGN_OR_RETURN(DataView resolved, ResolveView(manifest, view));
  if (resolved.unit() == DataView::CODE_POINT) resolved.set_unit(DataView::BYTE);
  return ViewTransform(manifest.spec(), resolved).spec();
}

}  // namespace

absl::Status CheckTask(const TrainRequest& request, const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(spec));
  LRA_RETURN_IF_ERROR(CheckSums(*metric, "training with labels", ScoredSums(*metric)));
  return CheckLengths(request.resolved, spec);
}

absl::Status CheckTrainable(const TrainRequest& request, const Manifest& manifest) {
  const ExperimentConfig& config = request.resolved.config;
  LRA_ASSIGN_OR_RETURN(const TaskSpec spec, ViewedSpec(manifest, config.view()));
  LRA_RETURN_IF_ERROR(CheckTask(request, spec));
  return CatchTorch([&] {
    LRA_RETURN_IF_ERROR(request.make_classifier(config, spec).status());
    return config.has_pretrain() ? TokenModel::Create(config, spec).status() : absl::OkStatus();
  });
}

}  // namespace lra
