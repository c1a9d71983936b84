// The interface of every attention. A plug-in is one source of models/attention/: facts, class,
// registration line; its options are <name>.proto beside it. `lra check NAME` and the conformance
// suite (models/conformance/) test it unasked.
//
// Shapes: B batch, H heads, N queries, Nk keys, D head width.
#ifndef LRA_MODELS_INTERFACE_ATTENTION_H_
#define LRA_MODELS_INTERFACE_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/any.pb.h"
#include "lra/registry.h"
#include "models/base/parameters.h"
#include "models/kernels/dropout.h"

namespace lra {

// Which of the layer's projections a method reads; the layer does not create the others.
enum class Projections {
  kQueryKeyValue,
  kSharedQueryKey,  // q is also the key (LSH); input.k is q
  // None, nor an output projection: q = k = v = the normalised layer input, heads being slices of
  // its channels, and the output is the block's.
  kNone,
};

enum class Causality {
  kNever,     // input.causal is refused
  kOptional,  // input.causal chooses
  kAlways,    // o_i depends on tokens <= i, whatever input.causal says
};

// What a method can do. The conformance suite, `lra list` and the docs read it; a wrong claim fails
// a test. Believed without one: time_order, memory_order, rotary_reason, and a no to
// is_exact_softmax, is_row_stochastic, has_weights, a causal form, cross, streaming, weight dropout
// and distance slopes.
struct Traits {
  std::string label;    // "Linear Transformer": the row's name in tables
  std::string summary;  // one line for `lra list`
  std::string source;   // paper and equations
  // Weights are the softmax of q . k / sqrt(D), less the distance times what distance_slopes holds.
  bool is_exact_softmax = false;
  std::vector<double> distance_slopes;  // [H] or empty; where is_exact_softmax
  // Weights are >= 0 and sum to 1 (up to epsilon): constant values give a constant output (T7).
  bool is_row_stochastic = false;
  // Permuting keys with their values changes nothing (T8); must be observed false when declared
  // false.
  bool is_permutation_invariant = false;
  bool supports_cross = false;
  bool supports_weight_dropout = false;
  // Reads AttentionInput::inner_dropout.
  bool supports_inner_dropout = false;
  Projections projections = Projections::kQueryKeyValue;
  Causality causality = Causality::kNever;
  // Why kNever, or kAlways, and which option is otherwise; empty where kOptional.
  std::string causal_reason;
  // InitState() and Extend() exist: token by token, the causal form.
  bool supports_streaming = false;
  // Reads AttentionInput::x.
  bool uses_layer_input = false;
  // o = W v with a matrix W of each head that does not depend on v: attention maps exist.
  bool has_weights = true;
  // Why model.positions=ROTARY is refused, where q and k are not what all weights come from.
  std::string rotary_reason;
  // Obeys AttentionContext::distance_slopes; otherwise model.positions=ALIBI is refused.
  bool takes_distance_slopes = false;
  // Owns something of the size of the longest sequence; longer ones are refused.
  bool is_length_bound = false;
  // The same example gives the same output whatever padding it gets (T4) and whatever it is batched
  // with (T9).
  bool is_padding_invariant = true;
  std::string padding_reason;  // why not, where it is false
  // Why rounding q, k and v to bfloat16 can move an output by more than a few roundings (B16);
  // empty where it cannot.
  std::string bfloat16_reason;
  std::string time_order;    // "N^2 D", "N D^2"
  std::string memory_order;  // "N D"
};

// For messages: "no causal form", with the reason where there is one.
std::string NoCausalForm(const Traits& traits);

// What an attention is made for.
struct AttentionSizes {
  int64_t heads = 1;        // H
  int64_t head_width = 1;   // D
  int64_t model_width = 1;  // E: channels of AttentionInput::x
  // L: the longest sequence, CLS included: cosFormer's M, length-bound tables.
  int64_t max_length_tokens = 0;
};

// What a factory gets to know about the model around it.
struct AttentionContext : AttentionSizes {
  // For methods that own parameters; names are prefixed with `scope`.
  ParameterStore* parameters = nullptr;
  std::string scope;
  google::protobuf::Any options;
  // A slope s > 0 for each head: its weights are multiplied by exp(-s |i - j|) before rows are
  // normalised. Empty = none; only what declares takes_distance_slopes gets any.
  std::vector<double> distance_slopes;
};

// Dropout of the hidden states [B, N, H D] of a method with a nonlinear output: in front of its
// activation and behind it.
struct InnerDropout {
  DropoutKey before_activation, after_activation;
  bool active() const { return before_activation.active() || after_activation.active(); }
};

struct AttentionInput {
  at::Tensor q;  // [B, H, N, D]
  at::Tensor k;  // [B, H, Nk, D]
  at::Tensor v;  // [B, H, Nk, D]
  // [B, Nk] bool, true = real token. Undefined = all real. Masks select, never multiply: a NaN in a
  // padded position must not get through.
  at::Tensor keep;
  // models/kernels/dropout.h; inactive in evaluation. Its seed, step, site and example ids also key
  // a method's own noise, drawn only where is_training.
  DropoutKey weight_dropout;
  InnerDropout inner_dropout;  // inactive in evaluation
  at::Tensor x;                // [B, N, E]: the normalised layer input, for methods that use it
  // Query i sees keys j <= i + Nk - N.
  bool causal = false;
  bool is_training = false;
};

// What a streaming attention remembers of the tokens so far.
struct AttentionState {
  int64_t tokens = 0;               // so far
  std::vector<at::Tensor> tensors;  // the method's own
};

// The weights of a linear attention as products of features: W_ij = scale_i w_ij with
//   w_ij = query_i . key_j prod_s g_s, s from min(i, j) + 1 to max(i, j),
// and 0 for j > i if causal. float64; N = Nk.
struct WeightFeatures {
  at::Tensor query, key;  // [B, H, N, F]; 0 at masked keys
  at::Tensor log_decay;   // log g, [1 or B, H, N]; undefined = 0
  // [B, H, N, 1]; undefined if causal or with a decay, where W has no rank of at most F.
  at::Tensor scale;
  bool is_causal = false;
  bool has_negative_weights = false;
};

// A number that is learned and that is a choice of the method, in the unit of its name: cosFormer's
// M, where it is learned.
struct LearnedNumber {
  std::string name;  // "scale_tokens"
  int64_t head = 0;
  double value = 0;
};

class Attention {
 public:
  virtual ~Attention() = default;
  virtual const Traits& traits() const = 0;
  // [B, H, N, D]. Rows without any admissible key are exactly 0 with zero gradient. Rows of padded
  // queries are unspecified but finite for finite inputs (the encoder never reads them).
  virtual at::Tensor Attend(const AttentionInput& input) const = 0;
  // The same function, dense, O(N Nk), any dtype, written from the definition and differentiated by
  // autograd.
  virtual at::Tensor Oracle(const AttentionInput& input) const = 0;
  // Streaming: the causal form over consecutive pieces of T >= 1 tokens, q, k, v [B, H, T, D], keep
  // [B, T]; each call returns the outputs of its piece and moves the state on. Whatever the pieces,
  // together they equal Attend() with input.causal over all. Without gradients. Only where
  // supports_streaming.
  virtual AttentionState InitState(int64_t batch, const at::TensorOptions& options) const;
  virtual at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const;
  // nullopt where the weights are no such products. Without gradients.
  virtual std::optional<WeightFeatures> Features(const AttentionInput& /*input*/) const {
    return std::nullopt;
  }
  virtual std::vector<LearnedNumber> LearnedNumbers() const { return {}; }
};

using AttentionRegistry = Registry<Attention, const AttentionContext&>;

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_ATTENTION_H_
