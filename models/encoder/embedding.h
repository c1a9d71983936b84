// Tokens -> vectors: table + positions, CLS in front where pooling wants it, dropout.
#ifndef LRA_MODELS_ENCODER_EMBEDDING_H_
#define LRA_MODELS_ENCODER_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "datasets/host_batch.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/kernels/dropout.h"
#include "models/parameters.h"

namespace lra {

// pe[p, 2i] = sin(p / 10000^(2i / E)), pe[p, 2i + 1] = cos(same): [N, E] float32 (Vaswani et al.
// 2017, 3.5).
at::Tensor SinusoidTable(int64_t tokens, int64_t width);

class Embedding {
 public:
  // max_length_tokens includes CLS. Creates embedding.token.weight, with learned positions
  // embedding.position.weight, with CLS pooling embedding.cls (zeros).
  // `spec` is a view's: its vocabulary_size, and whether id 0 is padding or a token.
  Embedding(const ModelConfig& config, const TaskSpec& spec, int64_t max_length_tokens,
            ParameterStore* parameters);

  // [B, N, E]; N counts CLS. Throws c10::Error for a token id outside the vocabulary and for too
  // long batches.
  at::Tensor Forward(const HostBatch& batch, const DropoutKey& dropout) const;

 private:
  int64_t padding_id_;    // its row gets no gradient; -1 = none
  at::Tensor tokens_;     // [V, E]
  at::Tensor positions_;  // [max_length_tokens, E]
  at::Tensor cls_;        // [1, 1, E] or undefined
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_EMBEDDING_H_
