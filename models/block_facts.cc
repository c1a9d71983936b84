#include "models/block_facts.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/unregistered.h"
#include "models/base/shapes_only.h"
#include "models/base/torch_status.h"
#include "models/block_names.h"
#include "models/encoder/sequences.h"

namespace lra {
namespace {

absl::StatusOr<BlockFacts> Make(const ExperimentConfig& config, std::optional<BatchSize> batch) {
  const ShapesOnlyScope shapes_only;
  ParameterStore parameters(0);
  const int64_t longest = LongestSequence(config);
  const BatchSize size = batch.value_or(BatchSize{config.train().batch_examples(), longest});
  const BlockContext context = {.model = config.model(),
                                .attention = config.attention(),
                                .max_length_tokens = longest,
                                .parameters = &parameters,
                                .options = config.block().options()};
  BlockFacts facts;
  facts.attention = config.attention().name();
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Block> block,
                         BlockRegistry::Get().Create("block", config.block().name(), context));
    facts.traits = block->traits();
    facts.parameters = block->ParameterCount();
    facts.parameters_of_attention = parameters.count() - facts.parameters;
    facts.activation_bytes = block->ActivationBytes(size.examples, size.tokens);
    return absl::OkStatus();
  }));
  return facts;
}

}  // namespace

std::vector<std::string> BlockNames() { return BlockRegistry::Get().Names(); }

absl::StatusOr<google::protobuf::Any> LoadBlockOptions(absl::string_view name,
                                                       const std::vector<std::string>& sets) {
  if (!BlockRegistry::Get().Has(name))
    return UnregisteredError("block", name, BlockRegistry::Get().Names());
  const std::vector<std::string> files = ConfigNames("blocks");
  google::protobuf::Any options;
  if (std::find(files.begin(), files.end(), name) != files.end()) {
    LRA_ASSIGN_OR_RETURN(const BlockFile file, LoadBlockFile(name));
    options = file.block().options();
  }
  return SetOptions("block", name, options, sets);
}

absl::StatusOr<BlockFacts> DescribeBlock(const ExperimentConfig& config,
                                         std::optional<BatchSize> batch) {
  // A block that uses no attention is the one that takes the name "none".
  ExperimentConfig without = config;
  without.mutable_attention()->set_name(kNoAttention);
  without.mutable_attention()->clear_options();
  absl::StatusOr<BlockFacts> facts = Make(without, batch);
  return facts.ok() ? facts : Make(config, batch);
}

absl::StatusOr<std::string> TapsField(ExperimentConfig config) {
  FillLegacyValues(&config);
  if (config.model().stem_tokens() > 1) return std::string("model.stem_tokens");
  LRA_ASSIGN_OR_RETURN(const BlockFacts facts, DescribeBlock(config));
  return facts.traits.taps_field;
}

std::vector<std::pair<std::string, std::string>> TraitsInWords(const BlockTraits& traits) {
  const std::string causal = !traits.causal_reason.empty() ? "no: " + traits.causal_reason
                             : traits.is_causal ? "a token sees itself and earlier ones only"
                                                : "on request: attention.causal=true";
  return {
      {"attention", traits.uses_attention ? "the configured one" : "its own: --attention none"},
      {"causal", causal},
      {"streaming", traits.supports_streaming ? "yes, token by token"
                    : traits.is_causal        ? "no"
                                              : "of causal blocks only"},
      {"padding", traits.is_padding_invariant ? "changes nothing"
                                              : absl::StrCat("matters: ", traits.padding_reason)},
      {"time", traits.time_order},
      {"memory", traits.memory_order},
  };
}

}  // namespace lra
