// Token by token: what generating or monitoring costs. A prompt of N tokens moves the state to N,
// then single tokens are timed; beside them, forward passes over N tokens.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/cost.h"
#include "bench/measure/cases.h"
#include "bench/measure/counting_allocator.h"
#include "bench/measure/measure.h"
#include "bench/measure/step_model.h"
#include "bench/measure/timing.h"
#include "bench/spread.h"
#include "eval/machine.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/encoder/encoder.h"
#include "models/interface/attend.h"
#include "models/interface/block.h"
#include "models/kernels/packed_weights.h"

namespace lra::internal {
namespace {

// Tokens of a piece of the prompt.
constexpr int64_t kPieceTokens = 256;
constexpr int kRecomputations = 3;

int64_t BytesOf(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors)
    bytes += tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
  return bytes;
}

// What takes tokens one after the other. Both functions draw random inputs, which may take longer
// than a token does, and return what is to be timed: the work on them.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::function<void()> Extension(int64_t tokens) = 0;
  // The same for all tokens at once, without a state.
  virtual std::function<void()> Recomputation(int64_t tokens) const = 0;
  virtual int64_t StateBytes() const = 0;
};

class OperatorStream : public Stream {
 public:
  OperatorStream(const BenchRequest& request, std::unique_ptr<Case> c)
      : request_(request),
        case_(std::move(c)),
        state_(case_->attention().InitState(request.batch(), at::TensorOptions(at::kFloat))) {}

  std::function<void()> Extension(int64_t tokens) override {
    return [this, piece = Piece(tokens)] {
      ExtendWithoutAutocast(case_->attention(), piece, &state_);
    };
  }
  std::function<void()> Recomputation(int64_t tokens) const override {
    return [this, piece = Piece(tokens)] { AttendWithoutAutocast(case_->attention(), piece); };
  }
  int64_t StateBytes() const override { return BytesOf(state_.tensors); }

 private:
  AttentionInput Piece(int64_t tokens) const {
    const auto random = [&] {
      return at::randn({request_.batch(), tokens, request_.heads(), request_.head_width()})
          .transpose(1, 2);
    };
    AttentionInput piece;
    piece.q = random();
    piece.k = random();
    piece.v = random();
    if (case_->attention().traits().uses_layer_input) {
      piece.x =
          at::randn({request_.batch(), tokens, int64_t{request_.heads()} * request_.head_width()});
    }
    piece.causal = true;
    return piece;
  }

  const BenchRequest request_;
  const std::unique_ptr<Case> case_;
  AttentionState state_;
};

// The blocks of a model; embedding and head are the same for all methods and left out.
class BlocksStream : public Stream {
 public:
  static absl::StatusOr<std::unique_ptr<Stream>> Create(const BenchRequest& request) {
    BenchRequest causal = request;
    causal.set_causal(true);
    LRA_ASSIGN_OR_RETURN(const ExperimentConfig config, StepConfig(causal));
    std::unique_ptr<BlocksStream> stream(new BlocksStream(request));
    BlockContext context = {.model = config.model(),
                            .attention = config.attention(),
                            .max_length_tokens = request.tokens() + request.passes() + 1,
                            .parameters = &stream->store_,
                            .options = config.block().options()};
    for (context.index = 0; context.index < request.layers(); ++context.index) {
      context.scope = absl::StrCat("layer", context.index, ".");
      LRA_ASSIGN_OR_RETURN(std::unique_ptr<Block> block,
                           BlockRegistry::Get().Create("block", config.block().name(), context));
      if (!block->traits().supports_streaming) {
        return absl::InvalidArgumentError(
            absl::StrCat("attention \"", request.attention(), "\" does not stream"));
      }
      stream->states_.push_back(block->InitState(request.batch(), at::TensorOptions(at::kFloat)));
      stream->blocks_.push_back(std::move(block));
    }
    stream->weights_.emplace(stream->store_);
    return stream;
  }

  // The input goes with the first block, so that it does not count as memory of the others.
  std::function<void()> Extension(int64_t tokens) override {
    return [this, x = Random(tokens)]() mutable {
      const PackedWeightsScope packed(&*weights_);  // a model's stream has one, too
      for (size_t i = 0; i < blocks_.size(); ++i)
        x = blocks_[i]->Extend({x, at::Tensor(), DropoutRun()}, &states_[i]);
    };
  }
  std::function<void()> Recomputation(int64_t tokens) const override {
    return [this, x = Random(tokens)]() mutable {
      for (const auto& block : blocks_) x = block->Forward({x, at::Tensor(), DropoutRun()});
    };
  }
  int64_t StateBytes() const override {
    int64_t bytes = 0;
    for (const BlockState& state : states_) {
      bytes += BytesOf(state.tensors);
      for (const AttentionState& attention : state.attentions) bytes += BytesOf(attention.tensors);
    }
    return bytes;
  }

 private:
  explicit BlocksStream(const BenchRequest& request) : request_(request) {}

  at::Tensor Random(int64_t tokens) const {
    return at::randn({request_.batch(), tokens, int64_t{request_.heads()} * request_.head_width()});
  }

  const BenchRequest request_;
  ParameterStore store_{1};
  std::optional<PackedWeights> weights_;  // of all blocks
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<BlockState> states_;
};

absl::StatusOr<std::unique_ptr<Stream>> MakeStream(const BenchRequest& request) {
  if (request.scope() == BenchRequest::STEP) return BlocksStream::Create(request);
  BenchRequest one = request;  // a case whose tensors are small; the method is made for all tokens
  one.set_tokens(request.tokens() + request.passes() + 1);
  one.set_batch(1);
  one.set_padded(false);
  one.set_causal(false);
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Case> c, Case::Make(one));
  if (!c->attention().traits().supports_streaming) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention \"", request.attention(), "\" does not stream"));
  }
  return std::make_unique<OperatorStream>(request, std::move(c));
}

void TimeTokens(const BenchRequest& request, Stream* stream, BenchResult* result) {
  ResetPeakTensorBytes();
  double total = 0;
  const double limit = request.limit_seconds();
  for (int i = 0; i < request.passes() && (limit <= 0 || total <= limit); ++i) {
    const double elapsed = SecondsOf(stream->Extension(1));
    result->mutable_passes()->add_seconds(elapsed);
    total += elapsed;
  }
}

// The request with the tokens that the stream has taken, whose state is measured.
BenchRequest AtEnd(BenchRequest request, const BenchResult& result) {
  request.set_tokens(request.tokens() + result.passes().seconds_size());
  return request;
}

// The median of some passes over N + 1 tokens.
double TimeRecomputation(const BenchRequest& request, const Stream& stream) {
  std::vector<double> seconds;
  double total = 0;
  const double limit = request.limit_seconds();
  for (int i = 0; i < kRecomputations && (limit <= 0 || total <= limit); ++i) {
    seconds.push_back(SecondsOf(stream.Recomputation(request.tokens() + 1)));
    total += seconds.back();
  }
  return MedianOf(seconds);
}

}  // namespace

absl::Status MeasureStreaming(const BenchRequest& request, BenchResult* result) {
  const c10::NoGradGuard no_gradient;
  const PrecisionScope precision(request.precision() == NumericsConfig::BF16, at::kCPU);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, MakeStream(request));
  const int64_t standing = LiveTensorBytes();
  for (int64_t done = 0; done < request.tokens(); done += kPieceTokens)
    stream->Extension(std::min(kPieceTokens, request.tokens() - done))();
  TimeTokens(request, stream.get(), result);
  const int layers = request.scope() == BenchRequest::STEP ? request.layers() : 1;
  result->mutable_passes()->set_peak_bytes(PeakTensorBytes() - standing);
  result->set_state_bytes(stream->StateBytes());
  // After one token there is nothing to compute anew.
  if (request.tokens() > 1) result->set_recompute_seconds(TimeRecomputation(request, *stream));
  result->set_minimum_bytes(layers * MinimumStateBytes(AtEnd(request, *result)));
  result->set_batch(request.batch());
  result->set_resident_bytes(PeakMemoryBytes());
  result->set_outcome(BenchResult::MEASURED);
  return absl::OkStatus();
}

}  // namespace lra::internal
