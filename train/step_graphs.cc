#include "train/step_graphs.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/base/host_copy.h"
#include "models/base/torch_status.h"
#include "train/statistics_before.h"

namespace lra {
namespace {

bool IsWanted(absl::string_view graphs, at::Device device) {
  if (graphs == "on") return true;
  // The fake device has them for tests alone.
  return graphs != "off" && device.is_cuda();
}

// Why the stage's steps stay as they are; empty where they need not.
std::string WhyEager(const Run& run, const Stage& stage) {
  if (!run.ranks->is_alone()) return "several processes share a batch";
  if (run.request.exact_reduction) return "--exact-reduction cuts a batch into shards";
  if (stage.objective->whole_batch_work() == nullptr)
    return absl::StrCat(stage.objective->name(), " guesses another number of tokens in each step");
  const int64_t batch = std::min<int64_t>(run.config().train().batch_examples(), run.train.size());
  if (stage.micro_batch_examples > 0 && stage.micro_batch_examples < batch)
    return "a batch goes through in parts";
  return "";
}

void PrintEager(const Stage& stage, absl::string_view reason) {
  std::cerr << "graphs: " << stage.objective->name()
            << " asks for each operator by itself: " << reason << "\n";
}

std::string KeyOf(const std::vector<at::Tensor>& inputs) {
  std::string key;
  for (const at::Tensor& t : inputs) {
    absl::StrAppend(&key, ";");
    if (!t.defined()) continue;
    absl::StrAppend(&key, static_cast<int>(t.scalar_type()));
    for (const int64_t size : t.sizes()) absl::StrAppend(&key, ",", size);
  }
  return key;
}

}  // namespace

absl::Status CheckGraphs(absl::string_view graphs, at::Device device) {
  if (graphs.empty() || graphs == "auto" || graphs == "off") return absl::OkStatus();
  if (graphs != "on") {
    return absl::InvalidArgumentError(
        absl::StrCat("--graphs: is \"", graphs, "\", must be auto, on or off"));
  }
  const absl::Status there = DeviceGraphs::Create(device).status();
  if (there.ok()) return there;
  return absl::InvalidArgumentError(
      absl::StrCat("--graphs on: ", there.message(), "; use --graphs auto"));
}

std::unique_ptr<StepGraphs> StepGraphs::Create(const Run& run, const Stage& stage,
                                               UploadSlots* uploads, size_t most_graphs) {
  const bool is_quiet = run.request.runtime.quiet();
  const at::Device device = stage.objective->parameters().device();
  if (!IsWanted(run.request.graphs, device)) return nullptr;
  absl::StatusOr<std::unique_ptr<DeviceGraphs>> graphs = DeviceGraphs::Create(device);
  std::string reason = WhyEager(run, stage);
  if (reason.empty() && !graphs.ok()) reason = std::string(graphs.status().message());
  if (reason.empty())
    return std::unique_ptr<StepGraphs>(
        new StepGraphs(stage, uploads, std::move(*graphs), most_graphs));
  if (!is_quiet && run.request.graphs == "on") PrintEager(stage, reason);
  return nullptr;
}

StepGraphs::StepGraphs(const Stage& stage, UploadSlots* uploads,
                       std::unique_ptr<DeviceGraphs> graphs, size_t most_graphs)
    : stage_(stage),
      work_(*stage.objective->whole_batch_work()),
      uploads_(uploads),
      graphs_(std::move(graphs)),
      most_graphs_(most_graphs) {}

// The inputs are the batch's, then the step and the rates. All that it reads of the host is of the
// shape, or the same in every step.
StepGraphs::Outputs StepGraphs::Compute(const HostBatch& batch,
                                        const std::vector<at::Tensor>& inputs,
                                        const ScheduleValue& schedule) const {
  stage_.optimizer->ZeroGradients();
  const std::vector<at::Tensor> of_batch(inputs.begin(), inputs.end() - 2);
  const at::Tensor &step = inputs.end()[-2], &rates = inputs.back();
  const StatisticsBefore before(stage_.objective->parameters());
  Outputs outputs;
  outputs.tally = work_.AddGradientOf(batch, of_batch, {.training = true, .step_on_device = step});
  outputs.gradient_norm =
      stage_.optimizer->StepOnDevice(schedule, outputs.tally.select(0, 0), rates, &before);
  return outputs;
}

// Whether the shape gets a graph now; makes room for it.
bool StepGraphs::MayCapture(const Shape& shape) {
  if (is_refused_ || shape.uses <= kWarmUpSteps) return false;
  Shape* least = nullptr;
  size_t kept = 0;
  for (auto& [key, other] : shapes_) {
    if (other.graph == nullptr) continue;
    ++kept;
    if (least == nullptr || other.uses < least->uses) least = &other;
  }
  if (kept < most_graphs_) return true;
  if (shape.uses < 2 * least->uses) return false;
  *least = {.uses = least->uses};
  return true;
}

void StepGraphs::Capture(const HostBatch& batch, const std::vector<at::Tensor>& on_host,
                         const ScheduleValue& schedule, Shape* shape) {
  stage_.optimizer->ZeroGradients();
  shape->block = uploads_->block().clone();
  shape->inputs = UnpackViews(shape->block, on_host);
  bool is_counted = false;
  try {
    shape->graph = graphs_->Capture([&] {
      shape->outputs = Compute(batch, shape->inputs, schedule);
      is_counted = true;
    });
    ++captures_;
  } catch (const c10::Error& error) {
    is_refused_ = true;
    shape->outputs = {};
    std::cerr << "warning: ";
    PrintEager(stage_, error.what_without_backtrace());
  }
  // Nothing was updated, be it that the work is recorded or that it was refused at its end.
  if (is_counted) stage_.optimizer->CountUpdates(-1);
}

// The outputs are copies: the next replay writes over the graph's own.
StepGraphs::Outputs StepGraphs::Replay(Shape* shape) const {
  shape->block.copy_(uploads_->block());
  shape->graph->Replay();
  stage_.optimizer->CountUpdates(1);
  return {shape->outputs.tally.clone(), shape->outputs.gradient_norm.clone()};
}

absl::StatusOr<StepGraphs::Asked> StepGraphs::Take(const HostBatch& of_any_shape, int64_t step,
                                                   const ScheduleValue& schedule) {
  const HostBatch batch = work_.Shaped(of_any_shape);
  LRA_ASSIGN_OR_RETURN(const double divisor,
                       stage_.objective->Divisor(batch, static_cast<uint32_t>(step)));
  Asked asked = {work_.Known(batch), {}};
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    std::vector<at::Tensor> on_host = work_.OnHost(batch, divisor);
    on_host.push_back(at::full({}, step, at::kLong));
    on_host.push_back(stage_.optimizer->Rates(schedule));
    const std::vector<at::Tensor> moved = uploads_->Move(on_host);
    Shape& shape = shapes_[KeyOf(on_host)];
    ++shape.uses;
    if (shape.graph == nullptr && MayCapture(shape)) Capture(batch, on_host, schedule, &shape);
    asked.is_repeated = shape.graph != nullptr;
    Outputs outputs = asked.is_repeated ? Replay(&shape) : Compute(batch, moved, schedule);
    asked.result.on_device = std::move(outputs.tally);
    asked.gradient_norm = std::move(outputs.gradient_norm);
    return absl::OkStatus();
  }));
  return asked;
}

}  // namespace lra
