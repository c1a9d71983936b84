// Embedding and blocks: what classifiers and models that guess tokens share.
#ifndef LRA_MODELS_ENCODER_ENCODER_H_
#define LRA_MODELS_ENCODER_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/base/forward_context.h"
#include "models/base/parameters.h"
#include "models/encoder/embedding.h"
#include "models/encoder/sequences.h"
#include "models/interface/block.h"

namespace lra {

// An empty store for the model of `config`, which draws initial values as it says.
ParameterStore MakeParameterStore(const ExperimentConfig& config);

// The batch's, [B] int64 on the host.
at::Tensor ExampleIds(const HostBatch& batch);

// Dropout and statistics of one forward pass on the device that holds `moved_ids`, a copy of
// ExampleIds(); the default, of evaluation.
DropoutRun MakeDropoutRun(const ExperimentConfig& config, const HostBatch& batch,
                          const ForwardContext& context, const at::Tensor& moved_ids);

class Encoder {
 public:
  // Creates embedding.* and encoder.layer<i>.*; the parameters must outlive it. InvalidArgument for
  // an unknown block, positions of pixels without an image, and the errors of the block's factory.
  static absl::StatusOr<Encoder> Create(const ExperimentConfig& config, const TaskSpec& spec,
                                        ParameterStore* parameters);

  // Appends what is read of the texts on the host, kTensorsOfTexts tensors, some undefined; copied
  // to the device of the parameters they are Sequences::moved. Texts without it are copied by
  // themselves.
  static constexpr size_t kTensorsOfTexts = 3;
  void AddOnHost(const Sequences& texts, std::vector<at::Tensor>* all) const;

  // What stands after each part: "embedding", "layer 0 attention" (the parts that the block shows),
  // "layer 0", ...
  using ActivationVisitor = std::function<void(absl::string_view name, const at::Tensor& value)>;
  using AttentionVisitor =
      std::function<void(int64_t layer, const Attention& attention, const AttentionInput& input)>;

  // x [B, N, E] before the final norm, and which of its positions are real; N counts CLS. On the
  // device of the parameters. Throws as LibTorch does.
  struct Encoded {
    at::Tensor x;     // [B, N, E]
    at::Tensor real;  // [B, N] bool; undefined: all
  };
  // Where the first row of x alone is read, the last block may leave out the others: [B, 1, E].
  Encoded Forward(const Sequences& texts, const DropoutRun& run,
                  bool reads_first_only = false) const;
  Encoded Visit(const Sequences& texts, const DropoutRun& run,
                const ActivationVisitor& visit) const;
  // In evaluation; nothing to see in blocks without the configured attention. `visit` is called
  // without autocast, as attentions are.
  void VisitAttention(const Sequences& texts, const AttentionVisitor& visit) const;

  // Streaming: see Block::Extend. `ids` [B, T] int64 are the next tokens; CLS comes in front of the
  // first ones, and T counts it. Returns x [B, T, E] of these, before the final norm.
  // FailedPrecondition of CheckStreams() names the field by which something does not stream.
  struct State {
    int64_t tokens = 0;  // with CLS
    at::Tensor stem;     // its window (Embedding::Extend); undefined without a stem
    std::vector<BlockState> blocks;
  };
  absl::Status CheckStreams() const;
  State InitState(int64_t batch) const;
  at::Tensor Extend(const at::Tensor& ids, State* state) const;

  // What the attentions learned of their own choices, by name: "layer0.head1.scale_tokens".
  std::vector<std::pair<std::string, double>> LearnedNumbers() const;

  bool has_cls() const { return padding_.has_cls; }
  // Why the first row of x depends on no token behind it: "attention.causal is true"; empty where
  // it does depend on some.
  std::string WhyFirstRowIsBlind() const;
  // Whether the amount of padding changes x at real positions, as the blocks' traits say.
  bool depends_on_padding() const;

 private:
  Encoder(const ExperimentConfig& config, const TaskSpec& spec, int64_t max_tokens,
          ParameterStore* parameters)
      : padding_(config),
        drops_embedding_(config.model().embedding_dropout()),
        is_causal_(config.attention().causal()),
        stem_looks_ahead_(config.model().stem_tokens() > 1 && !is_causal_),
        embedding_(config, spec, max_tokens, parameters) {}
  Encoded Start(const Sequences& texts, const DropoutRun& run) const;

  PaddingRules padding_;
  bool drops_embedding_;
  bool is_causal_;         // attention.causal; blocks may be causal without it
  bool stem_looks_ahead_;  // at tokens; CLS is put in front of what it makes
  Embedding embedding_;
  std::vector<std::unique_ptr<const Block>> blocks_;
};

// Names what it is given as of the second texts of pairs: "second text: layer 0". `visit` must
// outlive it.
Encoder::ActivationVisitor OfSecondTexts(const Encoder::ActivationVisitor& visit);

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_ENCODER_H_
