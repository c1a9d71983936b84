#include "train/token_objective.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lra/status_macros.h"
#include "models/torch_status.h"
#include "train/micro_batch.h"
#include "train/token_targets.h"

namespace lra {
namespace {

// What goes through the model at once: a column of a part of the batch.
struct Piece {
  const HostBatch* part;
  TokenTargets targets;
};

std::vector<Piece> MakePieces(const HostBatch& part, const ExperimentConfig& config,
                              const ForwardContext& context) {
  std::vector<Piece> pieces;
  const int columns = part.lengths_b.empty() ? 1 : 2;
  for (int column = 0; column < columns; ++column) {
    pieces.push_back(
        {&part, MakeTokenTargets(part, column, config.pretrain(), config.seed(), context.step)});
  }
  return pieces;
}

void AddPiece(const TokenModel& model, const Piece& piece, const ForwardContext& context,
              BatchResult* result) {
  const std::vector<int64_t>& wanted = piece.targets.ids;
  const at::Tensor logits = model.Forward(*piece.part, piece.targets.places, context);  // [S, V]
  at::Tensor ids = at::empty({static_cast<int64_t>(wanted.size())}, at::kLong);
  std::copy(wanted.begin(), wanted.end(), ids.mutable_data_ptr<int64_t>());
  ids = ids.to(logits.device());
  const at::Tensor loss = at::cross_entropy_loss(logits, ids, {}, at::Reduction::Sum);
  result->loss_sum += loss.item<double>();
  if (!std::isfinite(result->loss_sum)) return;
  loss.div(static_cast<double>(result->guesses)).backward();
  result->correct += logits.argmax(1).eq(ids).sum().item<int64_t>();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenObjective>> TokenObjective::Create(const Run& run) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<TokenModel> model,
                       TokenModel::Create(run.config(), run.train.spec()));
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model->MoveTo(run.model->parameters().parameters()[0].value.device());
    return absl::OkStatus();
  }));
  return std::unique_ptr<TokenObjective>(new TokenObjective(run.config(), std::move(model)));
}

Schedule TokenObjective::MakeSchedule() const {
  ScheduleConfig schedule = config_.schedule();
  schedule.set_learning_rate(config_.pretrain().learning_rate());
  return Schedule(schedule, config_.optimizer(), steps());
}

absl::StatusOr<BatchResult> TokenObjective::AddGradient(const HostBatch& batch,
                                                        int64_t micro_batch_examples,
                                                        const ForwardContext& context) const {
  BatchResult result;
  const std::vector<HostBatch> parts =
      SplitBatch(batch, micro_batch_examples, depends_on_padding());
  std::vector<Piece> pieces;
  for (const HostBatch& part : parts) {
    result.tokens += CountTokens(part);
    for (Piece& piece : MakePieces(part, config_, context)) {
      result.guesses += static_cast<int64_t>(piece.targets.ids.size());
      pieces.push_back(std::move(piece));
    }
  }
  if (result.guesses == 0) {
    return absl::FailedPreconditionError(
        "pretrain: a batch whose examples have one token each leaves nothing to guess");
  }
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const Piece& piece : pieces) {
      AddPiece(*model_, piece, context, &result);
      if (!std::isfinite(result.loss_sum)) break;
    }
    return absl::OkStatus();
  }));
  return result;
}

void TokenObjective::VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                      const Encoder::ActivationVisitor& visit) const {
  for (const Piece& piece : MakePieces(batch, config_, context))
    model_->VisitActivations(batch, piece.targets.places, context, visit);
}

}  // namespace lra
