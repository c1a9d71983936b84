// ListOps (Nangia & Bowman 2018) as lengthened by the Long-Range Arena (Tay et al. 2021): evaluate
// a nested list of MIN, MAX, MED and SM of digits, written in prefix form. The length of an example
// counts its digits, operators and closing brackets.
//
//   source: [MAX 2 [SM 3 4 ] 7 ]     label: 7
//   sizes:  96,000 / 2,000 / 2,000 examples of 501 to 1,999 tokens
//   ids:    0 padding, 1..10 digits, 11..14 operators, 15 "]"
//   raw:    basic_{train,val,test}.tsv in the archive lra_release.gz of
//           google-research/long-range-arena (Apache-2.0)
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/line_reader.h"
#include "tasks/listops/baselines.h"
#include "tasks/listops/listops.pb.h"
#include "tasks/listops/oracle.h"
#include "tasks/listops/tree_generator.h"
#include "tasks/listops/tsv_parser.h"
#include "tasks/listops/tsv_writer.h"
#include "tasks/listops/vocabulary.h"
#include "tasks/task.h"

namespace lra {
namespace {

using namespace listops;  // the task's own names

// At the official sizes one attempt in 12 succeeds.
constexpr uint32_t kMaxAttempts = 1u << 22;

class ListOps : public Task {
 public:
  explicit ListOps(const ListOpsOptions& options) : options_(options), generator_(options) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("listops");
    spec.set_version(1);
    spec.set_vocabulary_size(kVocabularySize);
    for (absl::string_view name : kTokenNames) spec.add_token_names(std::string(name));
    spec.set_max_length_tokens(options_.max_length_tokens() - 1);
    spec.set_classes(kClasses);
    spec.set_metric(TaskSpec::ACCURACY);
    spec.set_close_bracket_id(kClose);
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", options_.train_examples()},
            {"validation", options_.validation_examples()},
            {"test", options_.test_examples()}};
  }

  bool CanGenerate() const override { return true; }

  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    EncodedExample example;
    for (; *attempt < kMaxAttempts; ++*attempt) {
      RandomStream random(seed, domain_, {*attempt, index, split});
      if (generator_.Draw(&random, &example)) return example;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "no new tree of more than ", options_.min_length_tokens(), " and fewer than ",
        options_.max_length_tokens(), " tokens in ", kMaxAttempts, " attempts for example ", index,
        "; widen min_length_tokens, max_length_tokens or max_depth, or ask for fewer examples"));
  }

  std::string RawDescription() const override {
    return "lra_release.gz, or a folder or archive with basic_train.tsv, basic_val.tsv and "
           "basic_test.tsv";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return MakeLineReader(std::move(source),
                          {.names = {"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"},
                           .header = std::string(kTsvHeader)});
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    return ParseTsvLine(raw.bytes);
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    RawExample raw;
    LRA_ASSIGN_OR_RETURN(raw.bytes, FormatTsvLine(example));
    return raw;
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    return WriteSampleFiles(*this, folder, seed);
  }

  bool HasOracle(absl::string_view origin) const override { return true; }

  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    LRA_ASSIGN_OR_RETURN(const int32_t label, Evaluate(example.tokens));
    return label;
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrJoin(example.tokens, " ", [](std::string* out, uint16_t id) {
      absl::StrAppend(out, id < kVocabularySize ? kTokenNames[id] : "?");
    });
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return ListOpsBaselines(view);
  }

  absl::StatusOr<std::vector<Strata>> StrataOf(const SplitView& train, const SplitView& split,
                                               const DataView& view, int threads) const override {
    return ListOpsStrata(train, split, options_.max_depth(), threads);
  }

 private:
  const ListOpsOptions options_;
  const TreeGenerator generator_;
  const RandomDomain domain_{"listops"};
};

absl::StatusOr<std::unique_ptr<Task>> MakeListOps(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(const ListOpsOptions options,
                       UnpackOptions<ListOpsOptions>("task", "listops", packed));
  const int64_t longest = TreeGenerator(options).LongestTree();
  if (options.min_length_tokens() + 1 >= options.max_length_tokens() ||
      options.min_length_tokens() >= longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("task listops: no tree has more than ", options.min_length_tokens(),
                     " and fewer than ", options.max_length_tokens(),
                     " tokens (min_length_tokens, max_length_tokens); trees of depth ",
                     options.max_depth(), " have up to ", longest));
  }
  return std::make_unique<ListOps>(options);
}

LRA_REGISTER(TaskRegistry, "listops", MakeListOps);

}  // namespace
}  // namespace lra
