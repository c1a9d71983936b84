// The interface of every block: one layer of the encoder, hidden states in and out. A plug-in is
// one source of models/block/: facts, class, registration line; with options it brings
// <name>.proto. `lra check NAME` and the conformance suite (models/conformance/) test it unasked.
//
// Shapes: B batch, N tokens, E model width, H heads, D head width.
#ifndef LRA_MODELS_INTERFACE_BLOCK_H_
#define LRA_MODELS_INTERFACE_BLOCK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "lra/config.pb.h"
#include "lra/registry.h"
#include "models/base/forward_context.h"
#include "models/base/parameters.h"
#include "models/interface/attention.h"
#include "models/kernels/dropout.h"

namespace lra {

// What dropout and norms in a forward pass depend on beside the place; probabilities are 0 in
// evaluation.
struct DropoutRun {
  float probability = 0;
  float weight_probability = 0;  // on attention weights
  uint32_t seed = 0;
  uint32_t step = 0;
  at::Tensor example_ids;  // [B] int64
  bool is_training = false;
  uint32_t first_site = 0;  // kSecondTextSites for second texts
  BatchStatistics statistics = BatchStatistics::kRunning;
  bool is_tied = false;           // model.dropout_mask: one mask for all tokens of a channel
  at::Tensor ids_on_device = {};  // DropoutKey's
  at::Tensor step_on_device = {};

  // Drawn for each token by itself, whatever is_tied says.
  DropoutKey Key(uint32_t site, float p) const {
    return {p, seed, step, first_site + site, example_ids, false, ids_on_device, step_on_device};
  }
  // The model's dropout of hidden states.
  DropoutKey HiddenKey(uint32_t site) const {
    DropoutKey key = Key(site, probability);
    key.is_tied = is_tied;
    return key;
  }
};

// What a block can do, as it was made: with its configuration and the attention inside it. The
// conformance suite and `lra list blocks` read it; a wrong claim fails a test.
struct BlockTraits {
  std::string label;    // "Gated attention unit": for people
  std::string summary;  // one line
  std::string source;   // paper and equations
  // Mixes tokens by the configured attention; otherwise attention.name must be "none".
  bool uses_attention = false;
  // Whether output i depends on tokens <= i only: asked for by attention.causal, or always so.
  bool is_causal = false;
  std::string causal_reason;  // why attention.causal=true is refused, where it is
  // The field that gives convolutions over tokens their taps. These stand for other tokens where
  // attention.causal holds, so that weights serve one of both forms. Empty: no such convolutions.
  std::string taps_field;
  // InitState() and Extend() exist: token by token, what Forward() does in evaluation. Only of
  // causal blocks.
  bool supports_streaming = false;
  // The same example gives the same output whatever padding it gets and, batch norms in training
  // apart, whatever it is batched with.
  bool is_padding_invariant = true;
  std::string padding_reason;  // why not, where it is false
  std::string time_order;      // "N^2 E", with the attention's beside it where it uses one
  std::string memory_order;
};

// What a factory gets to know about the model around it.
struct BlockContext {
  ModelConfig model;
  // Its `causal` is a request to every block, its name and options are for those that use it.
  AttentionConfig attention;
  int64_t index = 0;  // of the layer: part of the dropout's keys (models/layers/dropout_sites.h)
  int64_t max_length_tokens = 0;         // including CLS
  ParameterStore* parameters = nullptr;  // names are prefixed with `scope`
  std::string scope;                     // "encoder.layer0."
  google::protobuf::Any options;         // of the block
};

// Sees what stands inside a block, by name: "attention". Encoder::Visit() puts "layer <i> " before
// it.
using PartVisitor = std::function<void(absl::string_view part, const at::Tensor& value)>;

struct BlockInput {
  at::Tensor x;     // [B, N, E]
  at::Tensor real;  // [B, N] bool, true = real token; undefined: no padding. model.mask says what
                    // an attention makes of it. Masks select, never multiply.
  DropoutRun run;
  const PartVisitor* visit = nullptr;  // may be null
  // What follows reads the first row alone: Forward() may return that one, [B, 1, E].
  bool reads_first_only = false;
};

// What a streaming block remembers of the tokens so far.
struct BlockState {
  int64_t tokens = 0;                      // so far
  std::vector<AttentionState> attentions;  // of the attentions inside
  std::vector<at::Tensor> tensors;         // the block's own
};

class Block {
 public:
  virtual ~Block() = default;
  virtual const BlockTraits& traits() const = 0;
  // [B, N, E], or the first row where reads_first_only. Rows of padded tokens are unspecified but
  // finite for finite inputs; a NaN in one reaches no other row, nor its gradient.
  virtual at::Tensor Forward(const BlockInput& input) const = 0;
  // The same function from its definition: dense, in the type of x whatever the type of the
  // parameters, differentiated by autograd. `visit` is not called.
  virtual at::Tensor Oracle(const BlockInput& input) const = 0;
  // Trained scalars of the block, its attention's own apart: from the definition, not counted.
  virtual int64_t ParameterCount() const = 0;
  // Bytes of activations that Forward() keeps for the backward in float32, for B examples of N
  // tokens, without those inside the configured attention (its traits say how they grow). An
  // estimate: right within a factor of two at sizes where tensors, not constants, count.
  virtual int64_t ActivationBytes(int64_t batch, int64_t tokens) const = 0;

  // Streaming: consecutive pieces of T >= 1 tokens, x [B, T, E], real [B, T]; each call returns the
  // outputs of its piece and moves the state on. Whatever the pieces, together they equal Forward()
  // over all, in evaluation. Without gradients. Only where supports_streaming.
  virtual BlockState InitState(int64_t batch, const at::TensorOptions& options) const;
  virtual at::Tensor Extend(const BlockInput& piece, BlockState* state) const;

  // For attention maps: the attention and what Forward() gives to it; null where uses_attention is
  // false.
  virtual const Attention* attention() const { return nullptr; }
  virtual AttentionInput InputOfAttention(const BlockInput& input) const;
};

using BlockRegistry = Registry<Block, const BlockContext&>;

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_BLOCK_H_
