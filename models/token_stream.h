// Texts that grow token by token: what generation asks of a model that guesses tokens.
#ifndef LRA_MODELS_TOKEN_STREAM_H_
#define LRA_MODELS_TOKEN_STREAM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

enum class StreamKind {
  // Remembers what the block's Extend() needs: a state of constant size, or keys and values. Lays
  // the model's weights out once for all tokens, so they must stay as they are while it is used.
  kState,
  // Remembers the tokens, and runs the model over all of them each time. Of every model; the
  // definition of what the other kind gives.
  kRecompute,
};

// B texts of one length. Throws c10::Error as LibTorch does.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  // ids [B, T] int64 on the CPU are the next tokens of each text; T may be 0 in the first call, and
  // only there. Returns the logits [B, V] float32, on the CPU, of the token behind them.
  virtual at::Tensor Extend(const at::Tensor& ids) = 0;
  virtual int64_t tokens() const = 0;       // so far
  virtual int64_t state_bytes() const = 0;  // what is remembered of them
};

}  // namespace lra

#endif  // LRA_MODELS_TOKEN_STREAM_H_
