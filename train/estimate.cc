#include "train/estimate.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/base/allocation_meter.h"
#include "models/base/device_work.h"
#include "models/base/runtime.h"
#include "models/parameter_count.h"
#include "train/probe.h"
#include "train/shared_gradient.h"
#include "train/validations.h"

namespace lra {
namespace {

// The share of free memory that a step may use without being told.
constexpr double kShareOfFree = 0.8;

at::Device DeviceOf(const Run& run) { return run.model->parameters().device(); }

// What a step may use; 0 = not known.
double FreeBytes(at::Device device) {
  if (device.is_cpu()) return static_cast<double>(AvailableMemoryBytes());
  return static_cast<double>(FreeDeviceBytes(device).value_or(0));
}

// Peak allocations of a step with the `count` longest training examples at once.
absl::StatusOr<int64_t> StepBytes(const Run& run, const Stage& stage, int64_t count) {
  std::vector<int64_t> examples(run.train.size());
  std::iota(examples.begin(), examples.end(), int64_t{0});
  std::partial_sort(examples.begin(), examples.begin() + count, examples.end(),
                    [&](int64_t a, int64_t b) {
                      const int64_t length_a = run.train.longest_tokens(a);
                      const int64_t length_b = run.train.longest_tokens(b);
                      return length_a != length_b ? length_a > length_b : a < b;
                    });
  examples.resize(count);
  const at::Device device = DeviceOf(run);
  const int64_t before = LiveDeviceBytes(device).value_or(0);
  ResetPeakDeviceBytes(device);
  const MeteredScope metered;
  LRA_RETURN_IF_ERROR(ProbeTraining(run, stage, examples, 0).status());
  const std::optional<int64_t> peak = PeakDeviceBytes(device);
  return peak ? *peak - before : metered.meter().peak_bytes();
}

absl::Status TooLarge(const Stage& stage, const MicroBatch& choice) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--memory-budget: is ", FormatBytes(choice.budget_bytes),
      ", but a step with one of the longest examples takes ", FormatBytes(choice.step_bytes),
      " in ", stage.objective->name(), "; give more, or a smaller model"));
}

// The largest that fits. Memory grows almost evenly with the examples, so that the line through the
// last two measurements finds it in a few.
absl::Status FitBudget(const Run& run, const Stage& stage, MicroBatch* choice) {
  const int64_t budget = choice->budget_bytes;
  LRA_ASSIGN_OR_RETURN(const int64_t one, StepBytes(run, stage, 1));
  if (one > budget && run.request.runtime.memory_budget_bytes() > 0) {
    choice->step_bytes = one;
    return TooLarge(stage, *choice);
  }
  *choice = {1, choice->batch_examples, one, budget};
  int64_t fits = 1, exceeds = one > budget ? 2 : choice->batch_examples + 1;
  int64_t examples = 2;
  while (fits + 1 < exceeds) {
    LRA_ASSIGN_OR_RETURN(const int64_t bytes, StepBytes(run, stage, examples));
    (bytes <= budget ? fits : exceeds) = examples;
    if (bytes <= budget) choice->examples = examples, choice->step_bytes = bytes;
    const double each = std::max(1.0, static_cast<double>(bytes - one) / (examples - 1));
    const double whole = one + each * (choice->batch_examples - 1);
    if (whole <= budget / 2.0) {  // far from the budget: no need to measure it
      choice->examples = choice->batch_examples;
      choice->step_bytes = static_cast<int64_t>(whole);
      return absl::OkStatus();
    }
    if (fits + 1 >= exceeds) break;
    examples =
        std::clamp<int64_t>(1 + static_cast<int64_t>((budget - one) / each), fits + 1, exceeds - 1);
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const Run& run, const MicroBatch& choice) {
  if (!DependsOnBatch(run.config()) || choice.examples >= choice.batch_examples) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      NormsOverExamples(run.config()), ": statistics are of the whole batch of ",
      choice.batch_examples, " examples, which cannot go through in parts of ", choice.examples,
      "; leave --micro-batch out, raise --memory-budget, or lower train.batch_examples"));
}

// Forward passes of all validations, and of scoring at the end (test taken as large as validation),
// in batches.
double ForwardBatches(const Run& run, const Objective& objective) {
  const ExperimentConfig& config = run.config();
  const double validations = static_cast<double>(CountValidations(objective, config.train())) *
                             ValidationBatches(run, objective);
  if (!objective.is_tested()) return validations;
  const double one_split =
      EvaluationBatches(config, run.validation.size(), config.evaluation().scored_examples());
  return validations + 2 * CheckpointsScored(run.request) * one_split;
}

// What a rank computes of a batch at once (SharedGradient).
int64_t ShardCount(const Run& run) {
  return run.request.exact_reduction ? kExactShards : run.ranks->size();
}

int64_t ShardExamples(const Run& run, int64_t batch_examples) {
  return (batch_examples + ShardCount(run) - 1) / ShardCount(run);
}

std::vector<int64_t> FirstShard(const Run& run, const std::vector<int64_t>& batch) {
  std::vector<int64_t> shard;
  for (size_t i = 0; i < batch.size(); i += ShardCount(run)) shard.push_back(batch[i]);
  return shard;
}

// Runs, in this process and in others, that share the free memory of this machine or, where
// processes take cards in turn, of this one's card.
int64_t NeighbourCount(const Run& run) {
  const Launch& launch = run.ranks->launch();
  int64_t processes = launch.local_size > 0 ? launch.local_size : launch.size;
  if (!DeviceOf(run).is_cpu()) processes = std::min<int64_t>(processes, run.ranks->card_sharers());
  const int64_t cards = CardsOf(run.request.runtime.device()).value_or(1);
  return (processes + cards - 1) / cards * run.request.runs_at_once;
}

// Rank 0's choice, for all.
absl::Status ShareChoice(Ranks* ranks, MicroBatch* choice) {
  LRA_ASSIGN_OR_RETURN(const std::string examples, ranks->Share(absl::StrCat(choice->examples)));
  return absl::SimpleAtoi(examples, &choice->examples)
             ? absl::OkStatus()
             : absl::InternalError("rank 0's micro batch is damaged");
}

}  // namespace

absl::StatusOr<StageEstimate> EstimateStage(const Run& run, const Stage& stage) {
  const BatchPlan plan = BatchesByLength(run, stage.objective->order());
  StageEstimate estimate;
  estimate.steps = stage.objective->steps();
  estimate.parameters = stage.objective->parameters().count();
  estimate.is_tested = stage.objective->is_tested();
  estimate.forward_batches = ForwardBatches(run, *stage.objective);
  const int64_t parts = stage.micro_batch_examples;
  LRA_RETURN_IF_ERROR(ProbeTraining(run, stage, FirstShard(run, plan.back()), parts).status());
  const int64_t ranks = run.ranks->size();
  const int64_t shards_each = (ShardCount(run) + ranks - 1) / ranks;
  estimate.peak_memory_bytes = PeakMemoryBytes();
  estimate.available_memory_bytes = AvailableMemoryBytes();
  for (const size_t quarter : {1, 2, 3}) {
    const auto& examples = plan[plan.size() * quarter / 4];
    LRA_ASSIGN_OR_RETURN(const double training,
                         ProbeTraining(run, stage, FirstShard(run, examples), parts));
    estimate.step_seconds += shards_each * training / 3;
    LRA_ASSIGN_OR_RETURN(const double forward, ProbeForward(run, run.train, examples));
    estimate.total_seconds += estimate.forward_batches * forward / (3 * ranks);
  }
  estimate.total_seconds += estimate.steps * estimate.step_seconds;
  if (estimate.is_tested) {
    LRA_ASSIGN_OR_RETURN(estimate.transformer_parameters,
                         CountTransformerParameters(run.config(), run.train.spec()));
  }
  return estimate;
}

absl::StatusOr<MicroBatch> ChooseMicroBatch(const Run& run, const Stage& stage) {
  const RuntimeConfig& runtime = run.request.runtime;
  MicroBatch choice;
  choice.batch_examples = ShardExamples(
      run, std::min<int64_t>(run.config().train().batch_examples(), run.train.size()));
  const Efficiency& earlier = stage.state->efficiency();
  // Another number of ranks has shards of another size, unless they are to be the same bits.
  const bool has_same_ranks =
      run.request.exact_reduction || std::max(1, earlier.processes()) == run.ranks->size();
  const bool goes_on = has_same_ranks && earlier.exact_reduction() == run.request.exact_reduction;
  const int64_t before = goes_on ? earlier.micro_batch_examples() : 0;
  if (runtime.micro_batch_examples() > 0) {
    choice.examples = std::min<int64_t>(runtime.micro_batch_examples(), choice.batch_examples);
  } else if (runtime.memory_budget_bytes() == 0 && before > 0) {
    choice.examples = before;
  } else {
    choice.budget_bytes =
        runtime.memory_budget_bytes() > 0
            ? runtime.memory_budget_bytes()
            : static_cast<int64_t>(kShareOfFree * FreeBytes(DeviceOf(run)) / NeighbourCount(run));
    choice.examples = choice.batch_examples;
    if (choice.budget_bytes > 0) LRA_RETURN_IF_ERROR(FitBudget(run, stage, &choice));
  }
  LRA_RETURN_IF_ERROR(CheckParts(run, choice));
  return choice;
}

std::string DescribeMicroBatch(const MicroBatch& choice) {
  std::string text =
      absl::StrCat("memory: ", choice.examples, " of ", choice.batch_examples, " examples at once");
  const int64_t passes = (choice.batch_examples + choice.examples - 1) / choice.examples;
  if (passes > 1) absl::StrAppend(&text, ", ", passes, " passes a step");
  if (choice.step_bytes == 0) return text;
  return absl::StrCat(text, "; a step takes ", FormatBytes(choice.step_bytes),
                      " beyond the weights (", "budget ", FormatBytes(choice.budget_bytes), ")");
}

std::string DescribeEstimate(const StageEstimate& estimate) {
  const std::string parameters =
      estimate.transformer_parameters > 0
          ? DescribeParameters(estimate.parameters, estimate.transformer_parameters)
          : absl::StrCat(FormatCount(estimate.parameters), " parameters");
  return absl::StrCat("estimate: ", parameters, ", ", FormatCount(estimate.steps), " steps of ",
                      FormatSeconds(estimate.step_seconds), ", about ",
                      FormatSeconds(estimate.total_seconds),
                      estimate.is_tested ? " with validation and test" : " with validation",
                      "; peak memory about ", FormatBytes(estimate.peak_memory_bytes), " (",
                      FormatBytes(estimate.available_memory_bytes), " more available)");
}

absl::Status PlanStage(const Run& run, Stage* stage) {
  absl::StatusOr<MicroBatch> chosen = MicroBatch();
  if (run.ranks->is_first()) chosen = ChooseMicroBatch(run, *stage);
  LRA_RETURN_IF_ERROR(run.ranks->Agree(chosen.status()));
  MicroBatch& choice = *chosen;
  LRA_RETURN_IF_ERROR(ShareChoice(run.ranks.get(), &choice));
  stage->micro_batch_examples = choice.examples;
  if (run.request.runtime.quiet()) return absl::OkStatus();
  const std::string prefix =
      run.config().has_pretrain() ? absl::StrCat(stage->objective->name(), ": ") : "";
  std::cerr << prefix << DescribeMicroBatch(choice) << "\n";
  if (stage->state->step() > 0) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const StageEstimate estimate, EstimateStage(run, *stage));
  std::cerr << prefix << DescribeEstimate(estimate) << "\n";
  return absl::OkStatus();
}

}  // namespace lra
