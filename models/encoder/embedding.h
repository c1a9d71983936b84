// Turns tokens or real values into vectors: a table or a linear map, positions, a CLS vector in
// front if pooling needs it, and dropout.
#ifndef LRA_MODELS_ENCODER_EMBEDDING_H_
#define LRA_MODELS_ENCODER_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/base/host_copy.h"
#include "models/base/parameters.h"
#include "models/encoder/sequences.h"
#include "models/encoder/stem.h"
#include "models/kernels/dropout.h"
#include "models/layers/layer_pieces.h"

namespace lra {

// pe[p, 2i] = sin(p / 10000^(2i / E)), pe[p, 2i + 1] = cos of the same angle: [N, E] float32
// (Vaswani et al. 2017, 3.5).
at::Tensor SinusoidTable(int64_t tokens, int64_t width);
// The same of a square image read row by row: of the row in the first half of the channels, of the
// column in the second, [side * side, E]; E is a multiple of 4.
at::Tensor SinusoidTable2D(int64_t side, int64_t width);

class Embedding {
 public:
  // max_length_tokens includes CLS. Creates embedding.token.weight or, if `spec` says that inputs
  // are real, embedding.value.weight (LeCun normal) and .bias (zeros; see model.initial_values);
  // with learned positions also embedding.position.weight; with CLS pooling also embedding.cls
  // (zeros); with model.stem_tokens embedding.stem.*. `spec` is a view's: it gives vocabulary_size,
  // the side of images, and whether id 0 is padding or a token. With CONCATENATED positions all
  // but these have half of the channels.
  Embedding(const ExperimentConfig& experiment, const TaskSpec& spec, int64_t max_length_tokens,
            ParameterStore* parameters);

  // [B, N, E], where N counts CLS. Throws c10::Error for a token id outside the vocabulary, for
  // batches that are too long, and for tokens instead of values or the other way round. *real,
  // where it is defined, goes to the parameters' device in one copy with the tokens; where they are
  // there (Sequences::moved), *real becomes what was copied with them.
  at::Tensor Forward(const Sequences& sequences, const DropoutKey& dropout,
                     at::Tensor* real = nullptr) const;

  // Streaming: the vectors [B, T, E] of ids [B, T] int64 on any device, the first of which stands
  // at place `first`, with CLS in front at place 0 (then T counts it). In evaluation. *window is
  // the stem's (Stem::Extend), as InitWindow() gives it and earlier pieces left it; without a stem
  // it is undefined, and `window` may be null.
  at::Tensor InitWindow(int64_t batch, const at::TensorOptions& options) const;
  at::Tensor Extend(const at::Tensor& ids, int64_t first, at::Tensor* window) const;

  // All that Forward() reads of the host, some of it undefined: what Sequences::moved holds a copy
  // of. `real` is [B, N] or undefined.
  std::vector<at::Tensor> OnHost(const Sequences& sequences, const at::Tensor& real) const;
  at::Device device() const { return (tokens_.defined() ? tokens_ : values_.weight).device(); }

 private:
  at::Tensor InputsOnHost(const Sequences& sequences) const;  // ids or values [B, N]
  at::Tensor Inputs(const at::Tensor& moved) const;           // [B, N, E] without CLS
  // x [B, N, E], or its half, whose first token stands at place `first`.
  at::Tensor WithPositions(const at::Tensor& x, int64_t first) const;

  int64_t max_length_tokens_;
  int64_t padding_id_;      // the id whose row gets no gradient; -1 = none
  bool is_beside_ = false;  // positions CONCATENATED; then the next four have E / 2 channels
  at::Tensor tokens_;       // [V, E]; undefined for real values
  LinearMap values_;        // [E, 1]; undefined for tokens
  at::Tensor positions_;    // learned [max_length_tokens, E] or undefined
  DeviceConstant table_;    // those that are not learned, or undefined
  at::Tensor cls_;          // [1, 1, E] or undefined
  PaddingRules text_;       // of the tokens without CLS
  std::optional<Stem> stem_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_EMBEDDING_H_
