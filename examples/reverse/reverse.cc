// Reversal: symbols, a separator, the symbols backwards. Each token is guessed from the earlier
// ones; the symbols in front are given.
//
//   tokens: 3 1 4 | 4 1 3     given: 3 1 4     scored: | 4 1 3
//   ids:    1 .. S the symbols, S + 1 the separator; 0 is padding
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "examples/reverse/reverse.pb.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/task.h"

namespace lra {
namespace {

class Reverse : public Task {
 public:
  explicit Reverse(ReverseOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("reverse");
    spec.set_version(1);
    spec.set_vocabulary_size(separator() + 1);
    spec.add_token_names("<pad>");
    for (int32_t symbol = 1; symbol < separator(); ++symbol)
      spec.add_token_names(absl::StrCat(symbol));
    spec.add_token_names("|");
    spec.set_max_length_tokens(2 * options_.max_symbols() + 1);
    spec.set_classes(1);           // there is no label
    spec.set_metric_name("nats");  // of a guessed token; without it, bits_per_token
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", options_.train_examples()},
            {"validation", options_.validation_examples()},
            {"test", options_.test_examples()}};
  }

  bool CanGenerate() const override { return true; }

  // One more number an example: how many of its tokens are given. Without this column all are
  // scored.
  std::vector<ExtraColumn> ExtraColumns() const override {
    ExtraColumn prompt;
    prompt.set_name(std::string(kPromptColumn));
    prompt.add_shape(1);
    return {prompt};
  }

  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    RandomStream random(seed, domain_, {*attempt, index, split});
    const int64_t symbols = random.Between(options_.min_symbols(), options_.max_symbols());
    EncodedExample example;
    for (int64_t i = 0; i < symbols; ++i)
      example.tokens.push_back(static_cast<uint16_t>(1 + random.Below(options_.alphabet())));
    example.tokens.push_back(static_cast<uint16_t>(separator()));
    for (int64_t i = symbols - 1; i >= 0; --i) example.tokens.push_back(example.tokens[i]);
    example.extra = {static_cast<int16_t>(symbols)};
    return example;
  }

  // What an oracle can tell without labels: whether the tokens are what they should be.
  bool HasOracle(absl::string_view origin) const override { return true; }
  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    const auto& tokens = example.tokens;
    const size_t half = tokens.size() / 2;
    const bool is_right = tokens.size() == 2 * half + 1 && tokens[half] == separator() &&
                          std::equal(tokens.begin(), tokens.end(), tokens.rbegin()) &&
                          example.extra.size() == 1 &&
                          example.extra[0] == static_cast<int64_t>(half);
    if (is_right) return 0;
    return absl::DataLossError(absl::StrCat(ToText(example), " is no reversal"));
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrJoin(example.tokens, " ", [this](std::string* out, uint16_t id) {
      absl::StrAppend(out, id == separator() ? "|" : absl::StrCat(id));
    });
  }

 private:
  int32_t separator() const { return options_.alphabet() + 1; }

  const ReverseOptions options_;
  const RandomDomain domain_{"reverse"};
};

absl::StatusOr<std::unique_ptr<Task>> MakeReverse(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(ReverseOptions options,
                       UnpackOptions<ReverseOptions>("task", "reverse", packed));
  if (options.min_symbols() > options.max_symbols()) {
    return absl::InvalidArgumentError(absl::StrCat("task reverse: min_symbols is ",
                                                   options.min_symbols(), ", above max_symbols, ",
                                                   options.max_symbols()));
  }
  return std::make_unique<Reverse>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "reverse", MakeReverse);

}  // namespace
}  // namespace lra
