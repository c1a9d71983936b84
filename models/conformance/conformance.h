// The promises that every attention and every block must keep, checked on any of them: the
// registries' conformance suites. Tests run them over all registered names; `lra check` runs them
// as a tool.
//
// ids (bounds are in the results); T, F32, B16 and W, but for T8, of the causal form too, where
// there is one; gradients are those of inputs and of what the method owns:
//   T1  fast form == dense oracle in float64: random masks, odd N, N = 1, one real token, cross,
//       in training, weight dropout, which must change the output
//   T2  gradients == the oracle's by autograd; T2n: == central differences
//   T3  garbage, then NaN, in padded positions changes nothing (NaN in queries that are no keys: no
//       output); rows there are finite
//   T4  nor does the amount of padding; where declared otherwise, it must, and the traits say why
//   T5  later tokens change no earlier output, and get no gradient from it
//   T6  streaming, token by token or in pieces, two texts at a time, == all at once
//   T7  constant values give a constant output, weights >= 0
//   T8  invariant to permuting the keys, or not, as declared
//   T9  alone == in a batch; gradients of what it owns are the sums over the batch
//   T10 equal bits in equal runs, and of another instance with the same seed
//   T13 no keys: zeros and zero gradients
//   F32 float32 stays near the float64 oracle, over several tiles, up to the longest sequence, and
//       for few tokens, odd widths, holes in the mask, cross and in training
//   B16 so does numerics.precision=BF16 on the same rounded inputs: within one rounding, 2^-8, and
//       F32's bound, or 8 where tiles multiply in bfloat16; rounding the inputs moves the output by
//       no more than 8 roundings, or as declared
//   W   the implied weights times the values are the output
//   R   reads what it claims to read; exact softmax where declared; distance slopes where it takes
//       them, which T1, T2 and F32 then have as well
//   L   refuses sequences above its longest, or not, as declared
//   O   of a registered attention: every option is set, a number has a range, and the factory
//       refuses what is unset or out of range by name
//   E   of a registered attention, on the CPU: no option is without effect beside those of its
//       config file
//   S   of a registered attention: the texts of its traits are there, causal_reason exactly where
//       there is no choice of a causal form
//   C   of a registered attention: where a protocol drops attention weights and it has none, its
//       config file sets attention.dropout to 0
// Blocks, with several attentions inside, keep T1 to T10 and F32 with the same meaning (T3: NaN for
// outputs, garbage for gradients too), and
//   B16 under numerics.precision=BF16 what is added to the input stays within 4 roundings, 2^-6
//   D   dropout follows example, step, layer and text, neither padding nor batch, and is off in
//       evaluation
//   P   owns as many parameters as it declares
//   A   keeps as much memory for the backward as it declares, within a factor of 2
//   R   uses the configured attention, or not, as declared
// For the whole classifier with dropout: the result does not depend on M1 padding, M2 the rest of
// the batch, M3 gradient accumulation, M5 the number of threads; M4 equal runs give equal bits; M6
// dropout masks follow the step.
#ifndef LRA_MODELS_CONFORMANCE_CONFORMANCE_H_
#define LRA_MODELS_CONFORMANCE_CONFORMANCE_H_

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "models/interface/attention.h"
#include "models/interface/block.h"

namespace lra {

struct ConformanceResult {
  std::string id;         // "T4"
  std::string attention;  // name of the attention or block it was run for
  bool passed = false;
  double measured = 0;  // worst error; infinite where a NaN got through
  double bound = 0;
  std::string detail;  // what was compared
  // False where an exception ended the attempt: nothing was measured, and `detail` says why.
  bool was_compared = true;
};

// Makes the attention under test for sequences of up to context.max_length_tokens.
using AttentionMaker =
    std::function<absl::StatusOr<std::unique_ptr<Attention>>(const AttentionContext&)>;

// Where promises are tried, and which of them.
struct CheckSetting {
  // The device of the attention under test. Oracles, which define what is right, stay on the CPU.
  at::Device device = at::kCPU;
  // Only promises about these types: float64 (T, W, R, L), float32 (F32, M, and T3, T4, T6, T9 and
  // T13, which code for one instruction set may break), bfloat16 (B16). Empty = all.
  std::vector<at::ScalarType> types;

  bool Tries(at::ScalarType type) const;
};

// Reads the names "cpu" or "cuda:1"; "float64", "float32", "bfloat16" or nothing for all.
// InvalidArgument for another name, and with the reason for a device that is not there.
absl::StatusOr<CheckSetting> ParseCheckSetting(absl::string_view device, absl::string_view type);

// All but M, O, E, S and C. An error only where the attention cannot be made; what throws later is
// a broken promise, and the others are tried.
absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const AttentionMaker& maker,
                                                              const CheckSetting& setting = {});

// All but M of a registered attention; LoadAttentionOptions() has the options that users run.
absl::StatusOr<std::vector<ConformanceResult>> CheckAttention(absl::string_view name,
                                                              const google::protobuf::Any& options,
                                                              const CheckSetting& setting = {});

// Makes the block under test.
using BlockMaker = std::function<absl::StatusOr<std::unique_ptr<Block>>(const BlockContext&)>;

// All promises of a block but M. It is made with several attentions, or, where it takes
// attention.name "none", with that alone. An error only where it cannot be made, as above.
absl::StatusOr<std::vector<ConformanceResult>> CheckBlock(absl::string_view name,
                                                          const BlockMaker& maker,
                                                          const CheckSetting& setting = {});

// The same of a registered block.
absl::StatusOr<std::vector<ConformanceResult>> CheckBlock(absl::string_view name,
                                                          const google::protobuf::Any& options,
                                                          const CheckSetting& setting = {});

// What it says of itself as the suite makes it, with the transformer's attention in it where it
// uses one. The errors of the factory.
absl::StatusOr<BlockTraits> TraitsOfCheckedBlock(absl::string_view name,
                                                 const google::protobuf::Any& options);

// M: small classifiers (each pooling) with the attention in the default block. Nothing where
// float32 is not tried.
absl::StatusOr<std::vector<ConformanceResult>> CheckClassifier(absl::string_view name,
                                                               const google::protobuf::Any& options,
                                                               const CheckSetting& setting = {});
// With the block; the transformer's attention in it where it uses one.
absl::StatusOr<std::vector<ConformanceResult>> CheckBlockInClassifier(
    absl::string_view name, const google::protobuf::Any& options, const CheckSetting& setting = {});

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_CONFORMANCE_H_
