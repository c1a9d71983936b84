// The promises that every attention must keep, checked on any of them: the registry's conformance
// suite. Tests run it over all registered names; `lra check` runs it as a tool.
//
// ids (bounds are in the results); all of them of the causal form too, where there is one:
//   T1  fast form == dense oracle in float64: random masks, odd N, N = 1, one real token, cross,
//       in training, weight dropout
//   T2  gradients, of what the method owns too, == the oracle's by autograd; T2n: == central
//       differences
//   T3  garbage, then NaN, in padded positions changes nothing
//   T4  nor does the amount of padding; where declared otherwise, it must, and the traits say why
//   T5  later tokens change no earlier output, and get no gradient from it
//   T6  streaming, token by token or in pieces, == all at once
//   T7  constant values give a constant output, weights >= 0
//   T8  invariant to permuting the keys, or not, as declared
//   T9  alone == in a batch
//   T10 equal bits in equal runs, and of another instance with the same seed
//   T13 no keys: zeros and zero gradients
//   F32 float32 stays near the float64 oracle, over several tiles
//   B16 so does numerics.precision=BF16 on the same rounded inputs: within one rounding, 2^-8, and
//       F32's bound; rounding the inputs moves the output by no more than 8 roundings, or as
//       declared
//   W   the implied weights times the values are the output
//   R   reads what it claims to read; exact softmax where declared
//   L   refuses sequences above its longest, or not, as declared
// and for the whole classifier, dropout on: M1 padding, M2 batch composition, M3 gradient
// accumulation, M4 equal bits in equal runs, M5 number of threads, M6 masks follow the step
#ifndef LRA_MODELS_CONFORMANCE_CONFORMANCE_H_
#define LRA_MODELS_CONFORMANCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "models/attention/attention.h"

namespace lra {

struct ConformanceResult {
  std::string id;         // "T4"
  std::string attention;  // name it was run for
  bool passed = false;
  double measured = 0;  // worst error; infinite where a NaN got through
  double bound = 0;
  std::string detail;  // what was compared
};

// Makes the attention under test for sequences of up to context.max_length_tokens.
using AttentionMaker =
    std::function<absl::StatusOr<std::unique_ptr<Attention>>(const AttentionContext&)>;

enum class CheckScope {
  kAll,
  kFloat32,  // what may differ between instruction sets
};

// All but M. An error only where the attention cannot be made or an operation of LibTorch throws.
absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker,
                                                              CheckScope scope = CheckScope::kAll);

// The same of a registered attention; options may be empty.
absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const google::protobuf::Any& options,
                                                              CheckScope scope = CheckScope::kAll);

// M: small classifiers (each pooling) with the attention.
absl::StatusOr<std::vector<ConformanceResult>> CheckClassifier(
    absl::string_view name, const google::protobuf::Any& options);

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_CONFORMANCE_H_
