#include "train/trainable.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/classes.h"
#include "datasets/view.h"
#include "eval/metric.h"
#include "lra/status_macros.h"
#include "models/base/shapes_only.h"
#include "models/base/torch_status.h"
#include "models/classifier.h"
#include "models/token_model.h"
#include "run_folder/checkpoint.h"
#include "train/initial_encoder.h"
#include "train/lengths.h"
#include "train/start_weights.h"

namespace lra {
namespace {

absl::StatusOr<TaskSpec> ViewedSpec(const Manifest& manifest, const DataView& view) {
  LRA_ASSIGN_OR_RETURN(const DataView resolved, ResolveView(manifest, view));
  return SpecWithoutData(manifest.spec(), resolved);
}

// The weights that the run starts from. Ids of code points are not known without the data.
absl::Status CheckStartsFrom(const TrainRequest& request, const TaskSpec& spec) {
  const ExperimentConfig& config = request.resolved.config;
  const std::string& checkpoint = request.start_checkpoint;
  const bool takes_encoder = config.has_encoder_weights_sha256();
  if (checkpoint.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const CheckpointState other, LoadCheckpointState(checkpoint));
  if (!takes_encoder) return CheckSameModel(checkpoint, other, config);
  const bool knows_ids = config.view().unit() != DataView::CODE_POINT;
  return Annotate(
      knows_ids ? CheckSameEncoder(other, config, spec) : CheckSameLayers(other, config),
      absl::StrCat("--init-from ", checkpoint));
}

}  // namespace

absl::Status CheckTask(const TrainRequest& request, const Manifest& manifest,
                       const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(spec));
  std::vector<std::string> sums = ScoredSums(*metric);
  if (spec.guesses_tokens()) sums.emplace_back(kTokens);
  LRA_RETURN_IF_ERROR(
      CheckSums(*metric, spec.guesses_tokens() ? "guessing tokens" : "training with labels", sums));
  if (spec.guesses_tokens() && request.resolved.config.has_pretrain()) {
    return absl::InvalidArgumentError(
        "pretrain: view.target guesses tokens already; leave pretraining out");
  }
  if (!spec.guesses_tokens()) {
    LRA_RETURN_IF_ERROR(
        Annotate(CheckClasses(manifest), absl::StrCat("data of task ", manifest.spec().name())));
  }
  return CheckLengths(request.resolved, spec);
}

absl::Status CheckTrainable(const TrainRequest& request, const Manifest& manifest) {
  const ExperimentConfig& config = request.resolved.config;
  LRA_ASSIGN_OR_RETURN(const TaskSpec spec, ViewedSpec(manifest, config.view()));
  LRA_RETURN_IF_ERROR(CheckTask(request, manifest, spec));
  LRA_RETURN_IF_ERROR(CheckStartsFrom(request, spec));
  const ShapesOnlyScope shapes_only;
  return CatchTorch([&] {
    LRA_RETURN_IF_ERROR(request.make_classifier(config, spec).status());
    return config.has_pretrain() ? TokenModel::Create(config, spec).status() : absl::OkStatus();
  });
}

}  // namespace lra
