#include "train/size_check.h"

#include <algorithm>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/machine.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/size_estimate.h"

namespace lra {
namespace {

// No core of today multiplies and adds faster than this, in float32.
constexpr double kOperationsPerCoreSecond = 2e11;
// A step that takes longer is announced: until it was measured nothing else is printed.
constexpr double kLongStepSeconds = 10;

// The longest example as a batch of its own, with its padding.
int64_t LongestTokens(const SplitView& split) {
  return std::max<int64_t>(split.max_length_tokens(), split.fixed_length_tokens());
}

double MeanTokens(const SplitView& split) {
  if (split.fixed_length_tokens() > 0) return static_cast<double>(split.fixed_length_tokens());
  double tokens = 0;
  for (int64_t i = 0; i < split.size(); ++i) tokens += split.longest_tokens(i);
  return tokens / static_cast<double>(split.size());
}

void AnnounceLongSteps(const Run& run, const SizeEstimate& size) {
  const TrainConfig& train = run.config().train();
  const int cores = ResolveThreads(run.request.runtime.threads());
  const double examples = std::min<double>(train.batch_examples(), run.train.size());
  const double operations = examples * MeanTokens(run.train) * size.operations_per_token;
  const double seconds = operations / (cores * kOperationsPerCoreSecond);
  if (seconds < kLongStepSeconds || run.request.runtime.quiet()) return;
  std::cerr << absl::StrFormat("note: a step takes at least %.2g Tflop, on %d cores ",
                               operations / 1e12, cores)
            << FormatSeconds(seconds) << " or more, and " << FormatCount(train.steps()) << " steps "
            << FormatSeconds(seconds * train.steps()) << "; measuring a few of them first\n";
}

absl::Status TooLarge(const Run& run, const SizeEstimate& size, int64_t takes, int64_t limit) {
  const int64_t tokens = LongestTokens(run.train);
  return absl::InvalidArgumentError(absl::StrCat(
      "the model is too large: training it takes at least ", FormatBytes(takes), " (",
      FormatCount(size.parameters), " parameters with gradients and moments ",
      FormatBytes(size.training_bytes), ", activations of one example of ", FormatCount(tokens),
      " tokens ", FormatBytes(size.activation_bytes), "), and there are ", FormatBytes(limit),
      " of memory; lower its sizes (", DescribeSizes(run.config().model()),
      ", view.max_length_tokens ", run.config().view().max_length_tokens(),
      "), or try all the same with --memory-budget ", takes / 1000000000 + 1, "GB"));
}

}  // namespace

absl::Status CheckTrainingFits(const Run& run, bool is_cpu) {
  LRA_ASSIGN_OR_RETURN(const SizeEstimate size,
                       EstimateSize(run.config(), run.train.spec(), LongestTokens(run.train)));
  const int64_t machine = MemoryLimitBytes();
  const int64_t limit = std::max<int64_t>(machine, run.request.runtime.memory_budget_bytes());
  const int64_t takes = is_cpu ? size.training_bytes + size.activation_bytes : size.weight_bytes;
  if (machine > 0 && takes > limit) return TooLarge(run, size, takes, limit);
  if (is_cpu) AnnounceLongSteps(run, size);
  return absl::OkStatus();
}

absl::Status CheckHoldsWeights(absl::string_view path, int64_t file_bytes,
                               const ExperimentConfig& config, const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(const SizeEstimate size, EstimateSize(config, spec, 1));
  if (size.weight_bytes <= file_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has ", FormatBytes(file_bytes),
                   ", but the weights of its configuration (", DescribeSizes(config.model()),
                   ") take ", FormatBytes(size.weight_bytes), "; they are not of one model"));
}

}  // namespace lra
