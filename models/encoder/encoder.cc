#include "models/encoder/encoder.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/layers/dropout_sites.h"

namespace lra {
namespace {

absl::Status CheckPositions(const ModelConfig& model, const TaskSpec& spec) {
  if (model.positions() != ModelConfig::SINUSOID_2D) return absl::OkStatus();
  if (spec.image_side_pixels() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.positions: is SINUSOID_2D, but task ", spec.name(), " has no images"));
  }
  if (spec.pixel_tokens() > 1) {
    return absl::InvalidArgumentError(
        "model.positions: is SINUSOID_2D, but a pixel is several tokens (view.grey=COLOURS)");
  }
  if (model.width() % 4 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("model.width: is ", model.width(),
                   ", must be a multiple of 4: SINUSOID_2D has sines and cosines of two places"));
}

// Why a block does not stream, with the field that decides it.
std::string WhyNotStreaming(const Block& block) {
  const BlockTraits& traits = block.traits();
  const Attention* const attention = block.attention();
  if (!traits.is_causal && !traits.taps_field.empty())
    return traits.taps_field + ": without attention.causal=true its filters see later tokens";
  if (!traits.is_causal) return "attention.causal: is false, and later tokens are seen";
  if (attention != nullptr && !attention->traits().supports_streaming) {
    return absl::StrCat("attention.name: ", attention->traits().label,
                        " has no streaming form with these options");
  }
  return absl::StrCat("block.name: ", traits.label, " has no streaming form");
}

}  // namespace

ParameterStore MakeParameterStore(const ExperimentConfig& config) {
  const bool is_pytorch = config.model().initial_values() == ModelConfig::PYTORCH;
  return ParameterStore(config.seed(), is_pytorch ? LinearValues::kPyTorch : LinearValues::kGlorot);
}

at::Tensor ExampleIds(const HostBatch& batch) {
  at::Tensor ids = at::empty({batch.batch}, at::kLong);
  std::copy(batch.example_ids.begin(), batch.example_ids.end(), ids.mutable_data_ptr<int64_t>());
  return ids;
}

DropoutRun MakeDropoutRun(const ExperimentConfig& config, const HostBatch& batch,
                          const ForwardContext& context, const at::Tensor& moved_ids) {
  if (!context.training) {
    DropoutRun run;
    if (context.measured_share > 0)
      run.statistics = {BatchStatistics::Kind::kOfBatchAndLearn, context.measured_share};
    return run;
  }
  DropoutRun run = {config.model().dropout(),
                    config.attention().dropout(),
                    config.seed(),
                    context.step,
                    ExampleIds(batch),
                    true};
  run.statistics =
      context.updates_statistics ? BatchStatistics::kOfBatchAndLearn : BatchStatistics::kOfBatch;
  run.is_tied = config.model().dropout_mask() == ModelConfig::ALL_TOKENS;
  if (!moved_ids.is_cpu()) {
    run.ids_on_device = moved_ids;
    run.step_on_device = context.step_on_device;
  }
  return run;
}

absl::StatusOr<Encoder> Encoder::Create(const ExperimentConfig& config, const TaskSpec& spec,
                                        ParameterStore* parameters) {
  LRA_RETURN_IF_ERROR(CheckPositions(config.model(), spec));
  const int64_t max_tokens = LongestSequence(config);
  Encoder encoder(config, spec, max_tokens, parameters);
  BlockContext context = {.model = config.model(),
                          .attention = config.attention(),
                          .max_length_tokens = max_tokens,
                          .parameters = parameters,
                          .options = config.block().options()};
  for (int64_t i = 0; i < config.model().layers(); ++i) {
    context.index = i;
    context.scope = absl::StrCat("encoder.layer", i, ".");
    LRA_ASSIGN_OR_RETURN(std::unique_ptr<const Block> block,
                         BlockRegistry::Get().Create("block", config.block().name(), context));
    encoder.blocks_.push_back(std::move(block));
  }
  return encoder;
}

bool Encoder::depends_on_padding() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const std::unique_ptr<const Block>& block) {
    return !block->traits().is_padding_invariant;
  });
}

std::string Encoder::WhyFirstRowIsBlind() const {
  const bool looks_ahead =
      (stem_looks_ahead_ && !has_cls()) ||
      std::any_of(blocks_.begin(), blocks_.end(), [](const std::unique_ptr<const Block>& block) {
        return !block->traits().is_causal;
      });
  if (looks_ahead || blocks_.empty()) return "";
  if (is_causal_) return "attention.causal is true";
  const Attention* const attention = blocks_[0]->attention();
  if (attention == nullptr) return absl::StrCat(blocks_[0]->traits().label, " is always causal");
  const Traits& traits = attention->traits();
  return absl::StrCat(traits.label, " is always causal", traits.causal_reason.empty() ? "" : ": ",
                      traits.causal_reason);
}

void Encoder::AddOnHost(const Sequences& texts, std::vector<at::Tensor>* all) const {
  const auto own = embedding_.OnHost(texts, RealPositions(texts, padding_));
  LRA_CHECK(own.size() == kTensorsOfTexts);
  all->insert(all->end(), own.begin(), own.end());
}

Encoder::Encoded Encoder::Start(const Sequences& texts, const DropoutRun& run) const {
  const DropoutKey dropout = drops_embedding_ ? run.HiddenKey(kEmbeddingSite) : DropoutKey();
  Encoded encoded;
  if (texts.moved.empty()) encoded.real = RealPositions(texts, padding_);
  encoded.x = embedding_.Forward(texts, dropout, &encoded.real);
  return encoded;
}

Encoder::Encoded Encoder::Forward(const Sequences& texts, const DropoutRun& run,
                                  bool reads_first_only) const {
  Encoded encoded = Start(texts, run);
  for (const auto& block : blocks_) {
    const bool is_last = block == blocks_.back();
    encoded.x =
        block->Forward({encoded.x, encoded.real, run, nullptr, reads_first_only && is_last});
  }
  return encoded;
}

Encoder::Encoded Encoder::Visit(const Sequences& texts, const DropoutRun& run,
                                const ActivationVisitor& visit) const {
  Encoded encoded = Start(texts, run);
  visit("embedding", encoded.x);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const PartVisitor visit_part = [&](absl::string_view part, const at::Tensor& value) {
      visit(absl::StrCat("layer ", i, " ", part), value);
    };
    encoded.x = blocks_[i]->Forward({encoded.x, encoded.real, run, &visit_part});
    visit(absl::StrCat("layer ", i), encoded.x);
  }
  return encoded;
}

void Encoder::VisitAttention(const Sequences& texts, const AttentionVisitor& visit) const {
  Encoded encoded = Start(texts, DropoutRun());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const BlockInput input = {encoded.x, encoded.real, DropoutRun()};
    if (const Attention* const attention = blocks_[i]->attention(); attention != nullptr) {
      const AttentionInput of_attention = blocks_[i]->InputOfAttention(input);
      const AutocastScope off(false, encoded.x.device().type());
      visit(static_cast<int64_t>(i), *attention, of_attention);
    }
    encoded.x = blocks_[i]->Forward(input);
  }
}

absl::Status Encoder::CheckStreams() const {
  if (stem_looks_ahead_) {
    return absl::FailedPreconditionError(
        "model.stem_tokens: without attention.causal=true its filters see later tokens, so the "
        "stem does not stream");
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->traits().supports_streaming) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(WhyNotStreaming(*blocks_[i]), ", so layer ", i, " does not stream"));
  }
  return absl::OkStatus();
}

Encoder::State Encoder::InitState(int64_t batch) const {
  State state;
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(embedding_.device());
  state.stem = embedding_.InitWindow(batch, options);
  for (const auto& block : blocks_) state.blocks.push_back(block->InitState(batch, options));
  return state;
}

at::Tensor Encoder::Extend(const at::Tensor& ids, State* state) const {
  at::Tensor x = embedding_.Extend(ids, state->tokens, &state->stem);
  state->tokens += x.size(1);
  for (size_t i = 0; i < blocks_.size(); ++i)
    x = blocks_[i]->Extend({x, at::Tensor(), DropoutRun()}, &state->blocks[i]);
  return x;
}

std::vector<std::pair<std::string, double>> Encoder::LearnedNumbers() const {
  std::vector<std::pair<std::string, double>> numbers;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->attention() == nullptr) continue;
    for (const LearnedNumber& number : blocks_[i]->attention()->LearnedNumbers()) {
      numbers.emplace_back(absl::StrCat("layer", i, ".head", number.head, ".", number.name),
                           number.value);
    }
  }
  return numbers;
}

Encoder::ActivationVisitor OfSecondTexts(const Encoder::ActivationVisitor& visit) {
  return [&visit](absl::string_view name, const at::Tensor& value) {
    visit(absl::StrCat("second text: ", name), value);
  };
}

}  // namespace lra
