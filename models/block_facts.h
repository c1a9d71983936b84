// What can be said about a registered block without running it: `lra list blocks NAME`.
#ifndef LRA_MODELS_BLOCK_FACTS_H_
#define LRA_MODELS_BLOCK_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "lra/config.pb.h"
#include "models/interface/block.h"

namespace lra {

// The options of configs/blocks/<name>.textproto with `sets` over them (SetOptions). Empty for a
// block without a config file. InvalidArgument for an unknown block or field.
absl::StatusOr<google::protobuf::Any> LoadBlockOptions(absl::string_view name,
                                                       const std::vector<std::string>& sets);

struct BlockFacts {
  BlockTraits traits;
  std::string attention;                // the configured one, or "none"
  int64_t parameters = 0;               // trained, of one layer, its attention's own apart
  int64_t parameters_of_attention = 0;  // those the attention owns
  int64_t activation_bytes = 0;         // of one layer in training, the attention's apart
};
struct BatchSize {
  int64_t examples = 0, tokens = 0;  // B, N with CLS
};
// Describes the configuration's block as a layer of its model; attention.name counts where the
// block uses an attention. Activations are those of `batch`, or of a whole batch of the longest
// sequences. Whatever the sizes, nothing of them is allocated. The errors of the block's factory.
absl::StatusOr<BlockFacts> DescribeBlock(const ExperimentConfig& config,
                                         std::optional<BatchSize> batch = std::nullopt);

// The field of convolutions over tokens, of the stem or of the block, whose weights serve models of
// the same attention.causal only (BlockTraits::taps_field). Empty: the encoder has none. The errors
// of DescribeBlock.
absl::StatusOr<std::string> TapsField(ExperimentConfig config);

// "causal" -> "on request: attention.causal=true", and so on: every trait, in sentences.
std::vector<std::pair<std::string, std::string>> TraitsInWords(const BlockTraits& traits);

}  // namespace lra

#endif  // LRA_MODELS_BLOCK_FACTS_H_
