// A point of the factorised family as an attention: what its plug-ins return.
#ifndef LRA_MODELS_FACTORIZED_FACTORIZED_ATTENTION_H_
#define LRA_MODELS_FACTORIZED_FACTORIZED_ATTENTION_H_

#include "absl/status/statusor.h"
#include "models/factorized/features.h"
#include "models/factorized/signed_normalizer.pb.h"
#include "models/factorized/spec.h"
#include "models/interface/attention.h"

namespace lra {

class FactorizedAttention : public Attention {
 public:
  // traits: complete, with what follows from the spec: MakeFactorized().
  FactorizedAttention(FactorizedSpec spec, Traits traits);

  const Traits& traits() const override { return traits_; }
  at::Tensor Attend(const AttentionInput& input) const override;
  at::Tensor Oracle(const AttentionInput& input) const override;
  // State: the sums over keys, the features' largest logarithms, the keys seen, and for kCountFloor
  // the sums of the re-weighting.
  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override;
  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override;
  std::optional<WeightFeatures> Features(const AttentionInput& input) const override;
  // scale_tokens, half_life_tokens and length_power (sigmoid(m)) where they are learned.
  std::vector<LearnedNumber> LearnedNumbers() const override;

 private:
  // The factor of each row of a non-causal W without decay, [B, H, N, 1].
  at::Tensor RowScale(const AttentionInput& input, const at::Tensor& query,
                      const at::Tensor& key) const;
  at::Tensor AttendAtOnce(const AttentionInput& input) const;
  at::Tensor Finish(const AttentionInput& input, const factorized::Offsets& offsets,
                    factorized::Prepared prepared, AttentionState* state) const;
  // Decay in both directions.
  at::Tensor AttendBothWays(const AttentionInput& input, factorized::Prepared prepared) const;

  const FactorizedSpec spec_;
  const Traits traits_;
};

// --- for plug-ins ---

// traits: label, summary and source; orders of time and memory where they are not N D^2 and N D.
// All others follow from the spec. Where the spec has no re-weighting, context.distance_slopes are
// its decay.
std::unique_ptr<Attention> MakeFactorized(FactorizedSpec spec, const AttentionContext& context,
                                          Traits traits);

// Whether some w_ij can be below 0.
bool HasNegativeWeights(const FactorizedSpec& spec);

// FactorizedSpec::scale_tokens: 0 for the example's own length, else scale_tokens or, where that is
// 0, the longest sequence. InvalidArgument for an M below it.
absl::StatusOr<int64_t> CosineScale(bool is_length, int64_t scale_tokens,
                                    int64_t max_length_tokens);

// FactorizedSpec::log_decay: half-lives that double from head to head.
at::Tensor DecayLogs(double half_life_tokens, int64_t heads);

// Options: IdentityOptions or a message with the same fields.
template <class Options>
void SetSignedNormalizer(const Options& options, FactorizedSpec* spec) {
  spec->normalizer = options.normalizer() == SignedNormalizer::KEY_COUNT
                         ? RowNormalizer::kKeyCount
                         : RowNormalizer::kSignedFloor;
  spec->floor_ratio = options.floor_ratio();
  spec->epsilon = options.epsilon();
}

}  // namespace lra

#endif  // LRA_MODELS_FACTORIZED_FACTORIZED_ATTENTION_H_
