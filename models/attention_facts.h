// What can be said about a registered attention without running it: `lra list attentions NAME`.
#ifndef LRA_MODELS_ATTENTION_FACTS_H_
#define LRA_MODELS_ATTENTION_FACTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "lra/config.pb.h"
#include "models/interface/attention.h"

namespace lra {

// The sizes of the attentions in the model of a configuration.
AttentionSizes SizesOf(const ExperimentConfig& config);

// A parameter or buffer of one layer's attention; names without the layer's scope.
struct OwnedTensor {
  std::string name;
  std::vector<int64_t> shape;
  // How the shape follows from the sizes, found by changing each: "[H, 2 D, 128]"; "32 (of L)"
  // where it follows L in a way that is not known here.
  std::string letters;
  bool is_trained = true;  // false: a buffer, drawn and saved
};

struct AttentionFacts {
  Traits traits;
  std::vector<OwnedTensor> owned;
};
// Whatever the sizes, nothing of them is allocated. The errors of the attention's factory.
absl::StatusOr<AttentionFacts> DescribeAttention(absl::string_view name,
                                                 const google::protobuf::Any& options,
                                                 const AttentionSizes& sizes);

// "causal" -> "on request: attention.causal=true", and so on: every trait, in sentences.
std::vector<std::pair<std::string, std::string>> TraitsInWords(const Traits& traits);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_FACTS_H_
