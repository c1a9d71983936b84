// Parity: is the number of ones in a string of zeros and ones odd?
//
//   source: 0 1 1 0 1     label: 1
//   ids:    1 for "0", 2 for "1"; 0 is padding
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/parity/parity.pb.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/task.h"

namespace lra {
namespace {

constexpr uint16_t kZero = 1, kOne = 2;

class Parity : public Task {
 public:
  explicit Parity(ParityOptions options) : options_(std::move(options)) {}

  // What an example is. Training reads this from the data's manifest, never from here.
  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("parity");
    spec.set_version(1);  // raise it whenever examples change
    spec.set_vocabulary_size(3);
    for (const char* name : {"<pad>", "0", "1"}) spec.add_token_names(name);
    spec.set_max_length_tokens(options_.max_length_tokens());
    spec.set_classes(2);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", options_.train_examples()},
            {"validation", options_.validation_examples()},
            {"test", options_.test_examples()}};
  }

  bool CanGenerate() const override { return true; }

  // Depends on the four numbers alone, so that threads, parts and machines change nothing.
  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    RandomStream random(seed, domain_, {*attempt, index, split});
    EncodedExample example;
    example.tokens.resize(
        random.Between(options_.min_length_tokens(), options_.max_length_tokens()));
    for (uint16_t& token : example.tokens) {
      token = random.Below(2) == 1 ? kOne : kZero;
      example.label ^= token == kOne ? 1 : 0;
    }
    return example;
  }

  // Another way to the label, for `lra data verify`: it shares no code with Generate.
  bool HasOracle(absl::string_view origin) const override { return true; }
  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    const auto ones = std::count(example.tokens.begin(), example.tokens.end(), kOne);
    return static_cast<int32_t>(ones % 2);
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrJoin(example.tokens, " ", [](std::string* out, uint16_t token) {
      absl::StrAppend(out, token == kOne ? "1" : "0");
    });
  }

 private:
  const ParityOptions options_;
  const RandomDomain domain_{"parity"};  // streams of its own
};

absl::StatusOr<std::unique_ptr<Task>> MakeParity(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(ParityOptions options,
                       UnpackOptions<ParityOptions>("task", "parity", packed));
  if (options.min_length_tokens() > options.max_length_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task parity: min_length_tokens is ", options.min_length_tokens(),
                     ", above max_length_tokens, ", options.max_length_tokens()));
  }
  return std::make_unique<Parity>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "parity", MakeParity);

}  // namespace
}  // namespace lra
