#include "train/first_bad.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/base/torch_status.h"
#include "run_folder/divergence.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// Returns "activation NAME (3 of 640 values, the first at 17)"; empty for a finite tensor.
std::string Describe(absl::string_view kind, absl::string_view name, const at::Tensor& value) {
  const at::Tensor is_bad = at::isfinite(value.detach()).logical_not().flatten();
  const int64_t count = is_bad.sum().item<int64_t>();
  if (count == 0) return "";
  return absl::StrCat(kind, " \"", name, "\" (", count, " of ", value.numel(),
                      " values, the first at ", is_bad.to(at::kInt).argmax().item<int64_t>(), ")");
}

std::string FirstBadParameter(const ParameterStore& parameters) {
  std::string found;
  for (const Parameter& parameter : parameters.parameters()) {
    found = Describe("parameter", parameter.name, parameter.value);
    if (!found.empty()) break;
  }
  return found;
}

std::string FirstBadActivation(const Objective& objective, const HostBatch& batch,
                               int64_t micro_batch_examples, int64_t step) {
  std::string found;
  for (const HostBatch& part :
       SplitBatch(batch, micro_batch_examples, objective.depends_on_padding())) {
    objective.VisitActivations(
        part, {.training = true, .step = static_cast<uint32_t>(step), .updates_statistics = false},
        [&](absl::string_view name, const at::Tensor& value) {
          if (found.empty()) found = Describe("activation", name, value);
        });
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace

std::string FirstBadTensor(const Objective& objective, const HostBatch& batch,
                           int64_t micro_batch_examples, int64_t step) {
  const c10::NoGradGuard no_gradient;
  std::string found;
  const absl::Status status = CatchTorch([&] {
    found = FirstBadParameter(objective.parameters());
    if (!found.empty()) return absl::OkStatus();
    found = FirstBadActivation(objective, batch, micro_batch_examples, step);
    if (!found.empty()) return absl::OkStatus();
    for (const Parameter& parameter : objective.parameters().parameters()) {
      const at::Tensor& gradient = parameter.value.grad();
      if (gradient.defined()) found = Describe("gradient of", parameter.name, gradient);
      if (!found.empty()) return absl::OkStatus();
    }
    return absl::OkStatus();
  });
  return status.ok() ? found : absl::StrCat("unknown (", status.message(), ")");
}

absl::Status DivergedStage(const Objective& objective, const CheckpointState& state,
                           absl::string_view cause) {
  RunFailure failure;
  failure.set_kind(RunFailure::DIVERGED);
  failure.set_step(state.step());
  *failure.mutable_last_loss() = state.recent_loss();
  failure.set_cause(absl::StrCat(objective.name(), ": ", cause, ". A lower ",
                                 objective.rate_field(),
                                 ", a longer warm-up or optimizer.clip_norm usually helps"));
  return DivergedError(failure);
}

absl::Status DivergedByStep(const Objective& objective, const CheckpointState& state,
                            const HostBatch& batch, int64_t micro_batch_examples,
                            const StepResult& result, double learning_rate) {
  const int64_t step = state.step();
  const std::string first = FirstBadTensor(objective, batch, micro_batch_examples, step);
  return DivergedStage(
      objective, state,
      absl::StrCat(std::isfinite(result.batch.loss_sum) ? "gradient" : "loss",
                   " is not finite at step ", step, " (loss ",
                   result.batch.loss_sum / static_cast<double>(result.batch.guesses),
                   ", gradient norm ", result.gradient_norm, ", learning rate ", learning_rate,
                   ", train examples ", absl::StrJoin(batch.example_ids, " "),
                   "); first tensor that went bad: ", first.empty() ? "the loss itself" : first,
                   "; nothing was updated"));
}

absl::Status DivergedByOutput(const Objective& objective, const CheckpointState& state,
                              const absl::Status& output) {
  std::string first;
  const absl::Status searched = CatchTorch([&] {
    first = FirstBadParameter(objective.parameters());
    return absl::OkStatus();
  });
  if (!searched.ok()) first = absl::StrCat("unknown (", searched.message(), ")");
  if (first.empty()) first = "an activation, all parameters are finite";
  return DivergedStage(objective, state,
                       absl::StrCat("an output is not finite at step ", state.step(), " (",
                                    output.message(), "); first tensor that went bad: ", first));
}

}  // namespace lra
