#include "train/token_objective.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "eval/curve_values.h"
#include "eval/pretrain_text.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/base/upload_slots.h"
#include "models/encoder/sequences.h"
#include "train/batch_gradient.h"
#include "train/interruption.h"
#include "train/micro_batch.h"
#include "train/shared_run.h"
#include "train/token_targets.h"

namespace lra {
namespace {

// What goes through the model at once: a column of a part of the batch.
struct Piece {
  const HostBatch* part;
  TokenTargets targets;
};

// Keys the hidden tokens of validation; no step of training has this number.
constexpr uint32_t kValidationStep = std::numeric_limits<uint32_t>::max();

std::vector<Piece> MakePieces(const HostBatch& part, const ExperimentConfig& config,
                              uint32_t step) {
  std::vector<Piece> pieces;
  const int columns = part.lengths_b.empty() ? 1 : 2;
  for (int column = 0; column < columns; ++column) {
    pieces.push_back(
        {&part, MakeTokenTargets(part, column, config.pretrain(), config.seed(), step)});
  }
  return pieces;
}

void AddPiece(const TokenModel& model, const Piece& piece, const ForwardContext& context,
              double divisor, BatchResult* result) {
  const std::vector<int64_t>& wanted = piece.targets.ids;
  at::Tensor ids = at::empty({static_cast<int64_t>(wanted.size())}, at::kLong);
  std::copy(wanted.begin(), wanted.end(), ids.mutable_data_ptr<int64_t>());
  std::vector<at::Tensor> all = model.OnHost(*piece.part, piece.targets.places, true);
  all.push_back(ids);
  all = MoveTo(model.parameters().device(), all, context.uploads);
  ids = all.back();
  all.pop_back();
  ForwardContext with = context;
  with.moved = &all;
  const at::Tensor logits = model.Forward(*piece.part, piece.targets.places, with);  // [S, V]
  const at::Tensor loss = at::cross_entropy_loss(logits, ids, {}, at::Reduction::Sum);
  if (!loss.is_cpu()) {
    loss.div(divisor).backward();
    AddTally(TallyOnDevice(loss, logits, ids, /*counts_classes=*/false), result);
    return;
  }
  result->loss_sum += loss.item<double>();
  if (!std::isfinite(result->loss_sum)) return;
  loss.div(divisor).backward();
  result->correct += logits.argmax(1).eq(ids).sum().item<int64_t>();
}

// Adds what the model guesses without dropout and gradient to the sums of `example_count` examples.
absl::Status ScorePiece(const TokenModel& model, const Metric& metric, const Piece& piece,
                        int64_t example_count, ExampleSums* sums) {
  const TokenPlaces& places = piece.targets.places;
  const at::Tensor logits =
      model.Forward(*piece.part, places, ForwardContext{}).cpu().contiguous();  // [S, V]
  const std::vector<int32_t> targets(piece.targets.ids.begin(), piece.targets.ids.end());
  const int64_t length = Texts(*piece.part, places.column).length;
  std::vector<int64_t> examples;
  for (const int64_t place : places.positions)
    examples.push_back(piece.part->example_ids[place / length]);
  LRA_ASSIGN_OR_RETURN(const ExampleSums scored,
                       ScoreGuesses(metric, {.logits = {logits.const_data_ptr<float>(),
                                                        static_cast<size_t>(logits.numel())},
                                             .targets = targets,
                                             .classes = static_cast<int>(logits.size(1)),
                                             .examples = examples,
                                             .example_count = example_count}));
  sums->Add(scored);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenObjective>> TokenObjective::Create(const Run& run) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<TokenModel> model,
                       TokenModel::Create(run.config(), run.train.spec()));
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model->MoveTo(run.model->parameters().device());
    return absl::OkStatus();
  }));
  return std::unique_ptr<TokenObjective>(new TokenObjective(run, std::move(model)));
}

bool TokenObjective::EndsAt(int64_t step) const {
  return std::find(ends_.begin(), ends_.end(), step) != ends_.end();
}

Schedule TokenObjective::MakeSchedule(int64_t step) const {
  ScheduleConfig schedule = config_.schedule();
  schedule.set_learning_rate(config_.pretrain().learning_rate());
  // A warm-up and a drop in steps are those of training with labels.
  schedule.clear_warmup_steps();
  if (schedule.kind() == ScheduleConfig::STEP) schedule.set_kind(ScheduleConfig::CONSTANT);
  schedule.set_warmup_fraction(config_.pretrain().warmup_fraction());
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), step);
  return Schedule(schedule, config_.optimizer(), end == ends_.end() ? steps() : *end);
}

absl::StatusOr<double> TokenObjective::Divisor(const HostBatch& batch, uint32_t step) const {
  int64_t guesses = 0;
  for (const Piece& piece : MakePieces(batch, config_, step))
    guesses += static_cast<int64_t>(piece.targets.ids.size());
  if (guesses == 0) {
    return absl::FailedPreconditionError(
        "pretrain: a batch whose examples have one token each leaves nothing to guess");
  }
  return static_cast<double>(guesses) /
         BatchWeight(config_.train(), run_.train.size(), batch.batch);
}

absl::StatusOr<BatchResult> TokenObjective::AddShare(const HostBatch& share, double divisor,
                                                     int64_t micro_batch_examples,
                                                     const ForwardContext& context) const {
  BatchResult result;
  const std::vector<HostBatch> parts =
      SplitBatch(share, micro_batch_examples, depends_on_padding());
  std::vector<Piece> pieces;
  for (const HostBatch& part : parts) {
    result.tokens += CountTokens(part);
    for (Piece& piece : MakePieces(part, config_, context.step)) {
      result.guesses += static_cast<int64_t>(piece.targets.ids.size());
      pieces.push_back(std::move(piece));
    }
  }
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    for (const Piece& piece : pieces) {
      if (piece.targets.ids.empty()) continue;
      AddPiece(*model_, piece, context, divisor, &result);
      if (!std::isfinite(result.loss_sum)) break;
    }
    return absl::OkStatus();
  }));
  return result;
}

void TokenObjective::VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                      const Encoder::ActivationVisitor& visit) const {
  for (const Piece& piece : MakePieces(batch, config_, context.step))
    model_->VisitActivations(batch, piece.targets.places, context, visit);
}

std::vector<const Metric*> TokenObjective::metrics() const {
  return {*FindMetric(kBitsPerToken), *FindMetric(kAccuracy)};
}

std::string TokenObjective::Reference(const CheckpointState& state) const {
  return DescribeReference(state.pretrain());
}

Sums TokenObjective::TrainingSums(const RunningSums& running) const {
  Sums sums = Objective::TrainingSums(running);
  (*sums.mutable_counts())[kTokens] = CountOf(sums, kTargets);
  return sums;
}

absl::Status TokenObjective::ScoreBatch(const HostBatch& batch, int64_t micro_batch_examples,
                                        int64_t example_count, ExampleSums* sums) const {
  const Metric& metric = *metrics().front();
  return CatchTorch([&] {
    const c10::NoGradGuard no_grad;
    for (const HostBatch& part : SplitBatch(batch, micro_batch_examples, depends_on_padding())) {
      for (const Piece& piece : MakePieces(part, config_, kValidationStep)) {
        if (piece.targets.ids.empty()) continue;
        LRA_RETURN_IF_ERROR(ScorePiece(*model_, metric, piece, example_count, sums));
      }
    }
    return absl::OkStatus();
  });
}

absl::Status TokenObjective::Validate(int64_t micro_batch_examples, CheckpointState* state,
                                      CurvePoint* point) const {
  const TrainConfig& train = config_.train();
  const int64_t batch = train.batch_examples();
  const int64_t examples = EvaluatedExamples(
      run_.validation.size(), batch, train.validation_examples(), config_.evaluation().drop_last());
  const std::string where = absl::StrCat("pretraining's validation at step ", state->step());
  ExampleSums by_example;
  for (const auto& ids : PlanEvaluation(run_.validation, batch, examples)) {
    // All ranks do the same here, so that none may leave alone.
    if (run_.ranks->is_alone() && StopRequested()) return absl::CancelledError(where);
    LRA_RETURN_IF_ERROR(Annotate(
        ScoreBatch(MakeBatch(run_.validation, ids), micro_batch_examples, examples, &by_example),
        where));
  }
  Sums sums = by_example.Total();
  if (CountOf(sums, kTargets) == 0) return absl::OkStatus();  // texts of one token each
  (*sums.mutable_counts())[kTokens] = CountOf(sums, kTargets);
  point->set_validation_loss((*FindMetric(kNats))->Value(sums));
  SetValues(metrics(), sums, point->mutable_validation());
  return ShareMessage(run_.ranks.get(), "curve point", point);
}

}  // namespace lra
