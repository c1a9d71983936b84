// How many scalars a configuration trains, and how many it would with softmax attention: the
// benchmark's rule is at most 10 % more (README of google-research/long-range-arena).
#ifndef LRA_MODELS_PARAMETER_COUNT_H_
#define LRA_MODELS_PARAMETER_COUNT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

inline constexpr char kReferenceAttention[] = "transformer";
inline constexpr double kLargerPercent = 10;

// The errors of Classifier::Create.
absl::StatusOr<int64_t> CountParameters(const ExperimentConfig& config, const TaskSpec& spec);

// Counts the parameters of `config` with softmax attention and all else equal; 0 = there is nothing
// to compare with: the block uses no attention.
absl::StatusOr<int64_t> CountTransformerParameters(const ExperimentConfig& config,
                                                   const TaskSpec& spec);

struct ParameterDifference {
  int64_t parameters = 0;
  int64_t difference = 0;  // to the reference
  double percent = 0;      // of the reference
  bool is_larger = false;  // by more than kLargerPercent
};
ParameterDifference CompareParameters(int64_t parameters, int64_t reference_parameters);

// "70,218 parameters, +0.0 % beside the transformer's 70,218", with a warning above +10 %.
std::string DescribeParameters(int64_t parameters, int64_t transformer_parameters);

}  // namespace lra

#endif  // LRA_MODELS_PARAMETER_COUNT_H_
