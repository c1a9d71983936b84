#include "models/classifier.h"

#include <ATen/ops/cat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/config_check.h"
#include "lra/status_macros.h"
#include "models/base/host_copy.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/classifier_factory.h"
#include "models/encoder/head.h"
#include "models/encoder/pooling.h"
#include "models/layers/dropout_sites.h"
#include "models/next_token_model.h"

namespace lra {
namespace {

absl::Status Invalid(absl::string_view field, int64_t value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": is ", value, ", must be ", wanted));
}

absl::Status CheckSizes(const ExperimentConfig& config, const TaskSpec& spec) {
  const ModelConfig& model = config.model();
  const std::pair<const char*, int64_t> positive[] = {
      {"model.layers", model.layers()},
      {"model.width", model.width()},
      {"model.head_width", model.head_width()},
      {"view.max_length_tokens", config.view().max_length_tokens()}};
  for (const auto& [field, value] : positive) {
    if (value < 1) return Invalid(field, value, "set and at least 1");
  }
  if (model.norm_epsilon() <= 0)
    return absl::InvalidArgumentError("model.norm_epsilon: must be set and above 0");
  if (spec.vocabulary_size() < 2)
    return Invalid("vocabulary_size of the task", spec.vocabulary_size(), "at least 2");
  if (spec.classes() < 2) return Invalid("classes of the task", spec.classes(), "at least 2");
  const bool halves_head = spec.is_pair() && model.pair_head() == ModelConfig::CONCATENATION;
  if (halves_head && model.head() != ModelConfig::LINEAR && model.head_width() < 2)
    return Invalid("model.head_width", model.head_width(),
                   "at least 2: its half is a layer's width");
  if (spec.is_pair() && spec.is_real())
    return absl::InvalidArgumentError("pairs of real-valued inputs: no model reads them");
  return absl::OkStatus();
}

// Poolings that read the first position want it to know of others.
absl::Status CheckSeesTokens(const ModelConfig& model, const Encoder& encoder) {
  const bool is_cls = model.pooling() == ModelConfig::CLS;
  if (!is_cls && model.pooling() != ModelConfig::FIRST) return absl::OkStatus();
  const std::string why = encoder.WhyFirstRowIsBlind();
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("model.pooling: is ", ModelConfig::Pooling_Name(model.pooling()),
                   ", which reads the first position, and that sees ",
                   is_cls ? "no token" : "the first token alone", " (", why,
                   "); use LAST_TOKEN, MEAN or MAX, or layers that look ahead"));
}

class EncoderClassifier : public Classifier {
 public:
  explicit EncoderClassifier(const ExperimentConfig& config)
      : config_(config), parameters_(MakeParameterStore(config)) {}

  absl::Status Build(const TaskSpec& spec) {
    is_pair_ = spec.is_pair();
    LRA_ASSIGN_OR_RETURN(Encoder encoder, Encoder::Create(config_, spec, &parameters_));
    LRA_RETURN_IF_ERROR(CheckSeesTokens(config_.model(), encoder));
    encoder_.emplace(std::move(encoder));
    pooling_.emplace(config_.model(), &parameters_);
    head_.emplace(config_.model(), is_pair_, spec.classes(), &parameters_);
    return absl::OkStatus();
  }

  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training) const override {
    return OnHost(batch, is_training, IsJoint(is_training, false));
  }

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    const PrecisionScope precision = Precision();
    const Pooled pooled = PoolTexts(batch, context, nullptr);
    return head_->Forward(pooled.first, pooled.second).to(at::kFloat);  // [B, C]
  }

  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    const PrecisionScope precision = Precision();
    encoder_->VisitAttention(FirstTexts(batch), visit);
    if (is_pair_) encoder_->VisitAttention(SecondTexts(batch), visit);
  }

  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const ActivationVisitor& visit) const override {
    const PrecisionScope precision = Precision();
    const Pooled pooled = PoolTexts(batch, context, &visit);
    visit("logits", head_->Forward(pooled.first, pooled.second));
  }

  void MoveTo(at::Device device) override {
    parameters_.MoveTo(device);
    device_ = device;
  }

  const ParameterStore& parameters() const override { return parameters_; }

  std::vector<std::pair<std::string, double>> LearnedNumbers() const override {
    return encoder_->LearnedNumbers();
  }

  bool depends_on_padding() const override {
    const ModelConfig& model = config_.model();
    return encoder_->depends_on_padding() || model.pooling() == ModelConfig::MEAN_OF_ALL ||
           model.pooling() == ModelConfig::SUM_OVER_N;
  }

 private:
  PrecisionScope Precision() const {
    return PrecisionScope(config_.numerics().precision() == NumericsConfig::BF16, device_.type());
  }

  struct Pooled {
    at::Tensor first, second;  // [B, E]; the second one is undefined without pairs
  };

  // Whether the texts of pairs are read as one batch.
  bool IsJoint(bool is_training, bool is_measured) const {
    return is_pair_ && DependsOnBatch(config_) &&
           (is_measured || (is_training && config_.model().joint_pair_statistics()));
  }

  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training, bool is_joint) const {
    std::vector<at::Tensor> all;
    if (is_joint) {
      encoder_->AddOnHost(JointTexts(batch).sequences(), &all);
    } else {
      encoder_->AddOnHost(FirstTexts(batch), &all);
      if (is_pair_) encoder_->AddOnHost(SecondTexts(batch), &all);
    }
    all.push_back(is_training ? ExampleIds(batch) : at::Tensor());
    return all;
  }

  // `visit` may be null.
  Pooled PoolTexts(const HostBatch& batch, const ForwardContext& context,
                   const ActivationVisitor* visit) const {
    const bool is_joint = IsJoint(context.training, context.measured_share > 0);
    const std::vector<at::Tensor> moved =
        context.moved != nullptr ? *context.moved
                                 : CopyTogether(OnHost(batch, context.training, is_joint), device_);
    DropoutRun run = MakeDropoutRun(config_, batch, context, moved.back());
    const auto middle = moved.begin() + Encoder::kTensorsOfTexts;
    if (is_joint) return PoolJointly(batch, {moved.begin(), middle}, run, visit);
    Sequences first = FirstTexts(batch);
    first.moved.assign(moved.begin(), middle);
    Pooled pooled = {Pool(first, run, visit), at::Tensor()};
    if (!is_pair_) return pooled;
    Sequences second = SecondTexts(batch);
    second.moved.assign(middle, middle + Encoder::kTensorsOfTexts);
    run.first_site = kSecondTextSites;
    if (visit == nullptr) {
      pooled.second = Pool(second, run, nullptr);
    } else {
      const ActivationVisitor visit_second = OfSecondTexts(*visit);
      pooled.second = Pool(second, run, &visit_second);
    }
    return pooled;
  }

  // Reads the texts of pairs as one batch of twice the size. Dropout tells second texts from first
  // ones by a bit of the example's id that no data set uses.
  Pooled PoolJointly(const HostBatch& batch, const std::vector<at::Tensor>& moved, DropoutRun run,
                     const ActivationVisitor* visit) const {
    constexpr int64_t kSecondTextBit = int64_t{1} << 31;
    for (at::Tensor* ids : {&run.example_ids, &run.ids_on_device}) {
      if (ids->defined()) *ids = at::cat({*ids, *ids + kSecondTextBit});
    }
    const JointTexts joint(batch);
    Sequences texts = joint.sequences();
    texts.moved = moved;
    const std::vector<at::Tensor> halves = Pool(texts, run, visit).chunk(2);
    return {halves[0], halves[1]};
  }

  // [B, E]; `visit` may be null.
  at::Tensor Pool(const Sequences& texts, const DropoutRun& run,
                  const ActivationVisitor* visit) const {
    const Encoder::Encoded encoded = visit == nullptr
                                         ? encoder_->Forward(texts, run, pooling_->ReadsFirstOnly())
                                         : encoder_->Visit(texts, run, *visit);
    const at::Tensor pooled = pooling_->Forward(encoded.x, encoded.real, run.statistics);
    if (visit != nullptr) (*visit)("pooled", pooled);
    return pooled;
  }

  const ExperimentConfig config_;
  bool is_pair_ = false;
  ParameterStore parameters_;
  at::Device device_ = at::kCPU;
  std::optional<Encoder> encoder_;
  std::optional<Pooling> pooling_;
  std::optional<Head> head_;
};

}  // namespace

bool DependsOnBatch(const ExperimentConfig& config) { return !NormsOverExamples(config).empty(); }

std::string NormsOverExamples(const ExperimentConfig& config) {
  const ModelConfig& model = config.model();
  std::vector<std::string> fields;
  if (model.norm() == ModelConfig::BATCH) fields.push_back("model.norm=BATCH");
  if (!GuessesTokens(config.view()) && model.pooled_norm() == ModelConfig::OVER_EXAMPLES)
    fields.push_back("model.pooled_norm=OVER_EXAMPLES");
  return absl::StrJoin(fields, " and ");
}

absl::StatusOr<std::unique_ptr<TokenStream>> Classifier::StartStream(int64_t, StreamKind) const {
  return absl::FailedPreconditionError("the model guesses labels, not tokens");
}

absl::StatusOr<std::unique_ptr<Classifier>> Classifier::Create(const ExperimentConfig& config,
                                                               const TaskSpec& spec) {
  LRA_RETURN_IF_ERROR(CheckSizes(config, spec));
  ExperimentConfig complete = config;
  FillLegacyValues(&complete);
  if (spec.guesses_tokens()) return CreateNextTokenModel(complete, spec);
  std::unique_ptr<EncoderClassifier> model;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model = std::make_unique<EncoderClassifier>(complete);
    return model->Build(spec);
  }));
  return model;
}

absl::StatusOr<std::unique_ptr<Classifier>> CreateClassifier(const ExperimentConfig& config,
                                                             const TaskSpec& spec) {
  return Classifier::Create(config, spec);
}

}  // namespace lra
