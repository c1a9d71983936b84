#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cost.h"
#include "bench/measure/cases.h"
#include "bench/measure/compositions.h"
#include "bench/measure/measure.h"
#include "bench/measure/passes.h"
#include "bench/measure/timing.h"
#include "eval/machine.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"

namespace lra::internal {
namespace {

constexpr double kMemoryShare = 0.7;  // the share of available memory that may be used

double LargestDifference(const Case& c, const Case::Form& form) {
  const c10::NoGradGuard no_gradient;
  const at::Tensor expected = Attend(c);
  return ((form(c) - expected).abs().max() / expected.abs().max()).item<double>();
}

// The examples of which the composition fits into memory and time, found by a short one; 0 where
// not even one does, then *reason says why. Also sets the difference between both outputs.
absl::StatusOr<int64_t> ExamplesThatFit(const BenchRequest& request, const Composition& composition,
                                        BenchResult* result, std::string* reason) {
  BenchRequest probe = request;
  probe.set_tokens(std::min<int64_t>(512, request.tokens()));
  probe.set_batch(1);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Case> c, Case::Make(probe));
  result->set_difference(LargestDifference(*c, composition.form));
  const double bytes = static_cast<double>(PeakBytesOf([&] { c->Run(composition.form); }));
  const double seconds = SecondsOf([&] { c->Run(composition.form); });
  const double growth =
      std::pow(double(request.tokens()) / double(probe.tokens()), composition.exponent);
  const double all_seconds = seconds * growth * (request.passes() + 1);
  const double limit = request.limit_seconds();
  const double by_time = limit > 0 ? limit / all_seconds : double(request.batch());
  const double by_memory =
      kMemoryShare * double(AvailableMemoryBytes()) / std::max(1.0, bytes * growth);
  *reason = absl::StrFormat("the composition of one example takes about %.1f s, %.1f GB",
                            all_seconds, bytes * growth / 1e9);
  return static_cast<int64_t>(std::min({double(request.batch()), by_time, by_memory}));
}

// Both forms in turn.
absl::Status MeasureBoth(const BenchRequest& request, BenchResult* result) {
  const Composition composition = CompositionOf(request);
  result->set_composition_name(composition.name);
  std::string reason;
  LRA_ASSIGN_OR_RETURN(const int64_t batch, ExamplesThatFit(request, composition, result, &reason));
  if (batch < 1) {
    result->set_outcome(BenchResult::SKIPPED);
    result->set_reason(reason);
    return absl::OkStatus();
  }
  BenchRequest fitting = request;
  fitting.set_batch(batch);
  result->set_batch(batch);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Case> c, Case::Make(fitting));
  const auto ours = [&] { c->Run(Attend); };
  const auto theirs = [&] { c->Run(composition.form); };
  BenchPasses* our_passes = result->mutable_passes();
  BenchPasses* their_passes = result->mutable_composition();
  our_passes->set_peak_bytes(PeakBytesOf(ours));
  their_passes->set_peak_bytes(PeakBytesOf(theirs));
  for (int i = 0; i < request.passes(); ++i) {
    our_passes->add_seconds(SecondsOf(ours));
    their_passes->add_seconds(SecondsOf(theirs));
  }
  result->set_outcome(BenchResult::MEASURED);
  return absl::OkStatus();
}

absl::Status CheckComposition(const BenchRequest& request) {
  const bool has_sizes = request.heads() == kHeads && request.head_width() == kHeadWidth;
  const bool is_plain_training =
      request.mode() == BenchRequest::TRAINING && request.precision() != NumericsConfig::BF16;
  if (has_sizes && is_plain_training && request.options_size() == 0 && !request.padded())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("compositions are written for ", kHeads, " heads of width ", kHeadWidth,
                   " without padding, for each method's own options, and for training in float32"));
}

// Sets what the pass has to do at least, for a result of so many examples.
absl::Status SetCost(BenchRequest request, BenchResult* result) {
  request.set_batch(result->batch());
  BenchRequest one = request;
  one.set_batch(1);
  one.set_tokens(std::min<int64_t>(512, request.tokens()));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Case> c, Case::Make(one));
  const PassCost cost = OperatorCost(request, c->distinct_inputs());
  result->set_operations(cost.operations);
  result->set_moved_bytes(cost.moved_bytes);
  result->set_minimum_bytes(OperatorMinimumBytes(request, c->distinct_inputs()));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureOperator(const BenchRequest& request, BenchResult* result) {
  result->set_batch(request.batch());
  if (request.with_composition()) {
    LRA_RETURN_IF_ERROR(CheckComposition(request));
    LRA_RETURN_IF_ERROR(MeasureBoth(request, result));
    return SetCost(request, result);
  }
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Case> c, Case::Make(request));
  MeasurePasses(
      request,
      [&] {
        // The scope ends before the backward pass, like in training: that knows what its forward
        // pass did.
        const auto attend = [&request](const Case& one) {
          const PrecisionScope precision(request.precision() == NumericsConfig::BF16, at::kCPU);
          return Attend(one);
        };
        if (request.mode() == BenchRequest::TRAINING) return c->Run(attend);
        const c10::NoGradGuard no_gradient;
        attend(*c);
      },
      result);
  return SetCost(request, result);
}

}  // namespace lra::internal
