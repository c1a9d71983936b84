#include "models/next_token_model.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "lra/status_macros.h"
#include "models/base/host_copy.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/encoder/head.h"
#include "models/encoder/logistic_mixture.h"
#include "models/encoder/sequences.h"
#include "models/kernels/packed_weights.h"
#include "models/layers/norm.h"

namespace lra {
namespace {

bool HidesTokens(const ExperimentConfig& config) {
  return config.view().target() == DataView::MASKED;
}

// With the vector in front where the next token is guessed, and one linear map as its head.
ExperimentConfig EncoderConfig(ExperimentConfig config) {
  config.mutable_model()->set_pooling(HidesTokens(config) ? ModelConfig::MEAN : ModelConfig::CLS);
  config.mutable_model()->set_cls_mask(ModelConfig::REAL);
  config.mutable_model()->set_head(ModelConfig::LINEAR);
  return config;
}

// Batches of up to 16 pictures or texts of the usual lengths have a few multiples of it.
constexpr int64_t kRowMultiple = 512;

// GuessingRows(), and the same from the first on up to `count`: one row again and again would make
// a device add its gradients one after the other.
at::Tensor RowsOnHost(const HostBatch& batch, size_t count) {
  std::vector<int64_t> rows = GuessingRows(batch);
  const size_t guesses = rows.size();
  for (size_t i = guesses; guesses > 0 && i < count; ++i) rows.push_back(rows[i - guesses]);
  at::Tensor tensor = at::empty({static_cast<int64_t>(rows.size())}, at::kLong);
  std::copy(rows.begin(), rows.end(), tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

class NextTokenModel : public Classifier {
 public:
  explicit NextTokenModel(const ExperimentConfig& config)
      : config_(EncoderConfig(config)), parameters_(MakeParameterStore(config_)) {}

  absl::Status Build(const TaskSpec& spec) {
    LRA_ASSIGN_OR_RETURN(Encoder encoder, Encoder::Create(config_, spec, &parameters_));
    encoder_.emplace(std::move(encoder));
    if (HasFinalNorm(config_.model())) norm_.emplace(config_.model(), "encoder.norm", &parameters_);
    if (config_.model().token_head() == ModelConfig::LOGISTIC_MIXTURE) {
      mixture_.emplace(config_.model().width(), config_.model().mixture_components(), &parameters_);
    } else {
      head_.emplace(config_.model(), /*is_pair=*/false, spec.classes(), &parameters_);
    }
    return absl::OkStatus();
  }

  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training) const override {
    return OnHost(batch, is_training, is_training ? TrainingRows(batch, device_) : 0);
  }

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    return Guess(batch, context, nullptr);
  }

  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    const PrecisionScope precision = Precision();
    encoder_->VisitAttention(FirstTexts(batch), visit);
  }

  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const ActivationVisitor& visit) const override {
    visit("logits", Guess(batch, context, &visit));
  }

  void MoveTo(at::Device device) override {
    parameters_.MoveTo(device);
    device_ = device;
  }

  const ParameterStore& parameters() const override { return parameters_; }

  std::vector<std::pair<std::string, double>> LearnedNumbers() const override {
    return encoder_->LearnedNumbers();
  }

  bool depends_on_padding() const override { return encoder_->depends_on_padding(); }

  absl::StatusOr<std::unique_ptr<TokenStream>> StartStream(int64_t batch,
                                                           StreamKind kind) const override;

  // Logits [B, V] float32, on the CPU, of the token behind the last row of x [B, T, E].
  at::Tensor GuessBehind(const at::Tensor& x) const {
    at::Tensor last = x.narrow(1, x.size(1) - 1, 1);
    if (norm_) last = norm_->Forward(last, at::Tensor(), BatchStatistics::kRunning);
    return Logits(last.squeeze(1)).cpu();
  }
  const Encoder& encoder() const { return *encoder_; }

  PrecisionScope Precision() const {
    return PrecisionScope(config_.numerics().precision() == NumericsConfig::BF16, device_.type());
  }

 private:
  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training, int64_t rows) const {
    std::vector<at::Tensor> all;
    encoder_->AddOnHost(FirstTexts(batch), &all);
    all.push_back(RowsOnHost(batch, rows));
    all.push_back(is_training ? ExampleIds(batch) : at::Tensor());
    return all;
  }

  // [G, V], or as many rows as context.moved asks for; `visit` may be null.
  at::Tensor Guess(const HostBatch& batch, const ForwardContext& context,
                   const ActivationVisitor* visit) const {
    const std::vector<at::Tensor> moved =
        context.moved != nullptr ? *context.moved
                                 : CopyTogether(OnHost(batch, context.training, 0), device_);
    Sequences texts = FirstTexts(batch);
    texts.moved.assign(moved.begin(), moved.begin() + Encoder::kTensorsOfTexts);
    const DropoutRun run = MakeDropoutRun(config_, batch, context, moved.back());
    const PrecisionScope precision = Precision();
    const Encoder::Encoded encoded =
        visit == nullptr ? encoder_->Forward(texts, run) : encoder_->Visit(texts, run, *visit);
    const at::Tensor y =
        norm_ ? norm_->Forward(encoded.x, encoded.real, run.statistics) : encoded.x;
    const at::Tensor& rows = moved[Encoder::kTensorsOfTexts];
    return Logits(y.flatten(0, 1).index_select(0, rows));
  }

  // x [G, E] -> [G, V] float32.
  at::Tensor Logits(const at::Tensor& x) const {
    return mixture_ ? mixture_->Forward(x) : head_->Forward(x, at::Tensor()).to(at::kFloat);
  }

  const ExperimentConfig config_;
  ParameterStore parameters_;
  at::Device device_ = at::kCPU;
  std::optional<Encoder> encoder_;
  std::optional<Norm> norm_;
  std::optional<Head> head_;
  std::optional<MixtureHead> mixture_;  // in its place
};

int64_t BytesOf(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined()) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

class StatefulStream : public TokenStream {
 public:
  StatefulStream(const NextTokenModel& model, int64_t batch)
      : model_(model), weights_(model.parameters()), state_(model.encoder().InitState(batch)) {}

  at::Tensor Extend(const at::Tensor& ids) override {
    const c10::NoGradGuard no_gradient;
    tokens_ += ids.size(1);
    const PrecisionScope precision = model_.Precision();
    const PackedWeightsScope packed(&weights_);
    return model_.GuessBehind(model_.encoder().Extend(ids, &state_));
  }

  int64_t tokens() const override { return tokens_; }

  int64_t state_bytes() const override {
    int64_t bytes = BytesOf({state_.stem});
    for (const BlockState& block : state_.blocks) {
      bytes += BytesOf(block.tensors);
      for (const AttentionState& attention : block.attentions) bytes += BytesOf(attention.tensors);
    }
    return bytes;
  }

 private:
  const NextTokenModel& model_;
  PackedWeights weights_;
  Encoder::State state_;
  int64_t tokens_ = 0;
};

class RecomputingStream : public TokenStream {
 public:
  RecomputingStream(const NextTokenModel& model, int64_t batch)
      : model_(model), ids_(at::empty({batch, 0}, at::kLong)) {}

  at::Tensor Extend(const at::Tensor& ids) override {
    const c10::NoGradGuard no_gradient;
    ids_ = at::cat({ids_, ids}, 1);
    const at::Tensor small = ids_.to(at::kInt).contiguous();
    const std::vector<int32_t> lengths(ids_.size(0), static_cast<int32_t>(ids_.size(1)));
    Sequences texts;
    texts.batch = ids_.size(0);
    texts.length = ids_.size(1);
    texts.tokens = {small.const_data_ptr<int32_t>(), static_cast<size_t>(small.numel())};
    texts.lengths = lengths;
    const PrecisionScope precision = model_.Precision();
    return model_.GuessBehind(model_.encoder().Forward(texts, DropoutRun()).x);
  }

  int64_t tokens() const override { return ids_.size(1); }
  int64_t state_bytes() const override { return static_cast<int64_t>(ids_.nbytes()); }

 private:
  const NextTokenModel& model_;
  at::Tensor ids_;  // [B, t] int64
};

absl::StatusOr<std::unique_ptr<TokenStream>> NextTokenModel::StartStream(int64_t batch,
                                                                         StreamKind kind) const {
  if (HidesTokens(config_)) {
    return absl::FailedPreconditionError(
        "the model guesses hidden tokens from all others (view.target=MASKED), so no text grows "
        "from it; train one under view.target=NEXT");
  }
  if (kind == StreamKind::kRecompute) return std::make_unique<RecomputingStream>(*this, batch);
  LRA_RETURN_IF_ERROR(encoder_->CheckStreams());
  return std::make_unique<StatefulStream>(*this, batch);
}

absl::Status CheckSeesThePastOnly(const ExperimentConfig& config) {
  if (HidesTokens(config)) return absl::OkStatus();
  if (!config.attention().causal()) {
    return absl::InvalidArgumentError(
        "view.target=NEXT guesses tokens from earlier ones, but attention.causal is false: each "
        "token would be seen by the output that guesses it; set attention.causal=true");
  }
  if (config.model().norm() != ModelConfig::BATCH) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "view.target=NEXT guesses tokens from earlier ones, but model.norm=BATCH takes its "
      "statistics over all of them; use LAYER");
}

absl::Status CheckHead(const ModelConfig& model, const TaskSpec& spec) {
  if (model.token_head() != ModelConfig::LOGISTIC_MIXTURE) return absl::OkStatus();
  if (spec.image_side_pixels() > 0 && spec.zero_is_token()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "model.token_head=LOGISTIC_MIXTURE is of the values 0 .. 255 of pixels (view.pixels=IDS); "
      "use CATEGORICAL");
}

}  // namespace

bool HasCls(const ExperimentConfig& config, const TaskSpec& spec) {
  if (spec.guesses_tokens()) return !spec.hides_tokens();
  return config.model().pooling() == ModelConfig::CLS;
}

std::vector<int64_t> GuessingRows(const HostBatch& batch) {
  std::vector<int64_t> rows;
  rows.reserve(batch.labels.size());
  for (size_t i = 0; i < batch.hidden.size(); ++i)
    if (batch.hidden[i] != 0) rows.push_back(static_cast<int64_t>(i));
  if (!batch.hidden.empty()) return rows;
  for (int64_t b = 0; b < batch.batch; ++b) {
    // Token n stands at place n + 1, behind the vector, so place n is the one before it.
    const int64_t end = batch.lengths[b];
    for (int64_t n = end - TargetsOf(batch, b); n < end; ++n)
      rows.push_back(b * (batch.length + 1) + n);
  }
  return rows;
}

int64_t TrainingRows(const HostBatch& batch, at::Device device) {
  const auto guesses = static_cast<int64_t>(batch.labels.size());
  if (device.is_cpu() || guesses == batch.batch) return guesses;
  const int64_t whole = (guesses + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
  return std::min(whole, std::max(guesses, batch.batch * batch.length));
}

absl::StatusOr<std::unique_ptr<Classifier>> CreateNextTokenModel(const ExperimentConfig& config,
                                                                 const TaskSpec& spec) {
  LRA_RETURN_IF_ERROR(CheckSeesThePastOnly(config));
  LRA_RETURN_IF_ERROR(CheckHead(config.model(), spec));
  std::unique_ptr<NextTokenModel> model;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model = std::make_unique<NextTokenModel>(config);
    return model->Build(spec);
  }));
  return model;
}

}  // namespace lra
