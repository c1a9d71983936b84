#include "train/pretrain.h"

#include <memory>

#include "lra/files.h"
#include "lra/status_macros.h"
#include "models/token_model.h"
#include "train/estimate.h"
#include "train/loop.h"
#include "train/token_objective.h"

namespace lra {
namespace {

PretrainResult ResultOf(const CheckpointState& state) {
  PretrainResult result;
  result.set_steps(state.step());
  for (const CurvePoint& point : state.curve()) result.set_tokens(result.tokens() + point.tokens());
  result.set_first_loss(state.curve(0).train_loss());
  const CurvePoint& last = state.curve(state.curve_size() - 1);
  result.set_last_loss(last.train_loss());
  *result.mutable_validation() = last.validation();
  result.set_seconds(state.efficiency().wall_seconds());
  return result;
}

}  // namespace

absl::Status Pretrain(Run* run) {
  const RuntimeConfig& runtime = run->request.runtime;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<TokenObjective> objective,
                       TokenObjective::Create(*run));
  Optimizer optimizer(run->config().optimizer(), objective->parameters());
  CheckpointState state = run->state;  // the state of a run that has not begun
  Stage stage = {objective.get(), JoinPath(runtime.out_dir(), kPretrainFolder), &optimizer, &state};
  LRA_RETURN_IF_ERROR(
      RestoreLatest(stage.directory, run->request, objective->parameters(), &optimizer, &state));
  if (state.step() < objective->steps()) LRA_RETURN_IF_ERROR(PlanStage(*run, &stage));
  LRA_RETURN_IF_ERROR(MakeDirectories(stage.directory));
  LRA_RETURN_IF_ERROR(TrainStage(*run, stage));
  CopySharedParameters(objective->parameters(), run->model->parameters());
  *run->state.mutable_pretrain() = ResultOf(state);
  return absl::OkStatus();
}

}  // namespace lra
