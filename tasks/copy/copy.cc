// Copying (Katharopoulos et al. 2020, section 4.1.1 and Figure 2): symbols, a separator, and the
// same symbols again. Each token is guessed from the earlier ones; the first copy is given, so what
// is scored are the separator and the second copy.
//
//   tokens: 3 1 4 1 | 3 1 4 1       given: 3 1 4 1       scored: | 3 1 4 1
//   ids:    1 .. S the symbols, S + 1 the separator; 0 is padding
//
// The paper's program lets one id separate and pad, and pads to a fixed length behind what is
// scored; neither can be seen by what is scored.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/copy/copy.pb.h"
#include "tasks/task.h"
#include "tasks/token_baseline.h"

namespace lra {
namespace {

class Copy : public Task {
 public:
  explicit Copy(CopyOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("copy");
    spec.set_version(1);
    spec.set_vocabulary_size(separator() + 1);
    spec.add_token_names("<pad>");
    for (int32_t symbol = 1; symbol < separator(); ++symbol)
      spec.add_token_names(absl::StrCat(symbol));
    spec.add_token_names("|");
    spec.set_max_length_tokens(2 * options_.max_symbols() + 1);
    spec.set_classes(1);  // all examples are alike: there is no label
    spec.set_metric_name("nats");
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", options_.train_examples()},
            {"validation", options_.validation_examples()},
            {"test", options_.test_examples()}};
  }

  bool CanGenerate() const override { return true; }

  std::vector<ExtraColumn> ExtraColumns() const override {
    ExtraColumn prompt;
    prompt.set_name(std::string(kPromptColumn));
    prompt.add_shape(1);
    return {prompt};
  }

  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    RandomStream random(seed, domain_, {*attempt, index, split});
    EncodedExample example;
    const int64_t symbols = random.Between(options_.min_symbols(), options_.max_symbols());
    for (int64_t i = 0; i < symbols; ++i)
      example.tokens.push_back(static_cast<uint16_t>(1 + random.Below(options_.alphabet())));
    example.tokens.push_back(static_cast<uint16_t>(separator()));
    for (int64_t i = 0; i < symbols; ++i) example.tokens.push_back(example.tokens[i]);
    example.extra = {static_cast<int16_t>(symbols)};
    return example;
  }

  // Labels say nothing; what an oracle can tell is whether the example is a copy with its prompt.
  bool HasOracle(absl::string_view origin) const override { return true; }

  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    const size_t half = example.tokens.size() / 2;
    const bool is_copy = example.tokens.size() == 2 * half + 1 &&
                         example.tokens[half] == separator() &&
                         example.tokens.first(half) == example.tokens.last(half);
    if (!is_copy) return absl::DataLossError(absl::StrCat(ToText(example), " is no copy"));
    if (example.extra.size() == 1 && example.extra[0] == static_cast<int64_t>(half)) return 0;
    return absl::DataLossError(absl::StrCat(
        kPromptColumn, " is ", example.extra.empty() ? "missing" : absl::StrCat(example.extra[0]),
        ", must be ", half, ", the number of symbols in front of the separator"));
  }

  // No token is scored in front of the separator. So what is scored is the separator until one was
  // seen, and any symbol behind it: who cannot look back has 47/48 ln 10 nats of the task's sizes.
  std::vector<std::unique_ptr<BaselineMethod>> TokenBaselines(const DataView&) const override {
    const auto was_seen = [id = separator()](absl::Span<const int32_t> ids, size_t n) -> int64_t {
      const auto front = ids.first(n);
      return std::find(front.rbegin(), front.rend(), id) != front.rend();
    };
    std::vector<std::unique_ptr<BaselineMethod>> baselines;
    baselines.push_back(MakeContextBaseline(
        {.name = "separator",
         .description = "How often each token is to be guessed before and behind the separator.",
         .bar = "the separator",
         .ignores = "all symbols"},
        {.contexts = 2, .of = was_seen}));
    return baselines;
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrJoin(example.tokens, " ", [this](std::string* out, uint16_t id) {
      absl::StrAppend(out, id == separator() ? "|" : absl::StrCat(id));
    });
  }

 private:
  int32_t separator() const { return options_.alphabet() + 1; }

  const CopyOptions options_;
  const RandomDomain domain_{"copy"};
};

absl::StatusOr<std::unique_ptr<Task>> MakeCopy(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(CopyOptions options, UnpackOptions<CopyOptions>("task", "copy", packed));
  if (options.min_symbols() > options.max_symbols()) {
    return absl::InvalidArgumentError(absl::StrCat("task copy: min_symbols is ",
                                                   options.min_symbols(), ", above max_symbols, ",
                                                   options.max_symbols()));
  }
  return std::make_unique<Copy>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "copy", MakeCopy);

}  // namespace
}  // namespace lra
