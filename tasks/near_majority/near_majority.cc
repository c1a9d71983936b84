// The synthetic control: a task whose best re-weighting is known by construction. Votes for and
// against are thrown as fair coins, and the label is the majority of those near a mark. The votes
// further away look the same, so counting says a little and only distance says the rest.
//
//   source: - + * + - - + ... (d = 1: the votes beside the marks *)     label: 1
//   ids:    1 a vote against, 2 a vote for, 3 a mark; 0 is padding
//
// With near_probability = 0 the votes that count stand anywhere; everything else is the same.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/near_majority/near_majority.pb.h"
#include "tasks/near_majority/votes.h"
#include "tasks/table_baseline.h"
#include "tasks/task.h"

namespace lra {
namespace {

using namespace near_majority;  // the task's own names

// An attempt fails if the votes that count are tied: less than half of them.
constexpr uint32_t kMaxAttempts = 1u << 16;

// `count` of 0 .. size - 1, every choice alike, in ascending order.
std::vector<int64_t> Choose(int64_t count, int64_t size, RandomStream* random) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < size && count > 0; ++i) {
    if (random->Below(static_cast<uint32_t>(size - i)) >= count) continue;
    chosen.push_back(i);
    --count;
  }
  return chosen;
}

int Sign(int64_t margin) { return margin > 0 ? 2 : margin < 0 ? 0 : 1; }

class NearMajority : public Task {
 public:
  explicit NearMajority(NearMajorityOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("near_majority");
    spec.set_version(1);
    spec.set_vocabulary_size(kVocabularySize);
    for (const char* name : kNames) spec.add_token_names(name);
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

  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    EncodedExample example;
    for (; *attempt < kMaxAttempts; ++*attempt) {
      RandomStream random(seed, domain_, {*attempt, index, split});
      if (Draw(&random, &example)) return example;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("no new example without a tie in ", kMaxAttempts, " attempts for example ",
                     index, "; raise max_length_tokens, or ask for fewer examples"));
  }

  // Where any votes may count, the label does not follow from the example.
  bool HasOracle(absl::string_view origin) const override {
    return options_.near_probability() == 1;
  }

  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    const std::vector<int32_t> ids(example.tokens.begin(), example.tokens.end());
    return NearMargin(ids, options_.distance_tokens()) > 0 ? 1 : 0;
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrJoin(example.tokens, " ", [](std::string* out, uint16_t id) {
      absl::StrAppend(out, id < kVocabularySize ? kNames[id] : "?");
    });
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView&) const override {
    std::vector<std::unique_ptr<BaselineMethod>> baselines;
    baselines.push_back(MakeTableBaseline(
        {.name = "all_votes",
         .description = "The majority of all votes: the best that can be done without distances.",
         .bar = "all votes",
         .ignores = "where the votes stand"},
        {.groups = 3,
         .group_of = [](absl::Span<const int32_t> ids) { return Sign(TotalMargin(ids)); }}));
    baselines.push_back(MakeTableBaseline(
        {.name = "near_votes",
         .description = "The majority of the votes near the marks: all that there is to know where "
                        "near_probability is 1.",
         .bar = "near votes",
         .ignores = "the votes that are far from every mark",
         .is_required = false},
        {.groups = 3,
         .group_of = [distance = options_.distance_tokens()](absl::Span<const int32_t> ids) {
           return Sign(NearMargin(ids, distance));
         }}));
    return baselines;
  }

 private:
  static constexpr const char* kNames[kVocabularySize] = {"<pad>", "-", "+", "*"};

  // Marks far enough from each other and from the ends: of all such places, each alike.
  std::vector<int64_t> DrawMarks(int64_t length, RandomStream* random) const {
    const int64_t d = options_.distance_tokens(), marks = options_.marks();
    std::vector<int64_t> places = Choose(marks, length - 2 * d * marks, random);
    for (int64_t m = 0; m < marks; ++m) places[m] += d + 2 * d * m;
    return places;
  }

  // Votes for less votes against, of as many votes as stand near the marks but drawn from all.
  int64_t AnyMargin(absl::Span<const uint16_t> tokens, RandomStream* random) const {
    std::vector<uint16_t> votes;
    std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(votes),
                 [](uint16_t id) { return id != kMark; });
    int64_t margin = 0;
    const int64_t count = 2 * int64_t{options_.distance_tokens()} * options_.marks();
    for (const int64_t i : Choose(count, static_cast<int64_t>(votes.size()), random))
      margin += votes[i] == kFor ? 1 : -1;
    return margin;
  }

  // False for a tie.
  bool Draw(RandomStream* random, EncodedExample* example) const {
    const bool counts_near = random->Uniform() < options_.near_probability();
    const int64_t d = options_.distance_tokens();
    std::vector<uint16_t>& tokens = example->tokens;
    tokens.resize(random->Between(options_.min_length_tokens(), options_.max_length_tokens()));
    for (uint16_t& token : tokens) token = random->Below(2) == 1 ? kFor : kAgainst;
    int64_t margin = 0;
    for (const int64_t mark : DrawMarks(static_cast<int64_t>(tokens.size()), random)) {
      tokens[mark] = kMark;
      for (int64_t i = 1; i <= d; ++i) {
        margin += tokens[mark - i] == kFor ? 1 : -1;
        margin += tokens[mark + i] == kFor ? 1 : -1;
      }
    }
    if (!counts_near) margin = AnyMargin(tokens, random);
    example->label = margin > 0 ? 1 : 0;
    return margin != 0;
  }

  const NearMajorityOptions options_;
  const RandomDomain domain_{"near_majority"};
};

absl::StatusOr<std::unique_ptr<Task>> MakeNearMajority(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(NearMajorityOptions options,
                       UnpackOptions<NearMajorityOptions>("task", "near_majority", packed));
  if (options.min_length_tokens() > options.max_length_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task near_majority: min_length_tokens is ", options.min_length_tokens(),
                     ", above max_length_tokens, ", options.max_length_tokens()));
  }
  const int64_t least = int64_t{options.marks()} * (2 * options.distance_tokens() + 1);
  if (options.min_length_tokens() < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("task near_majority: min_length_tokens is ", options.min_length_tokens(), "; ",
                     options.marks(), " marks (marks) with the ", 2 * options.distance_tokens(),
                     " votes near each (distance_tokens) take ", least));
  }
  return std::make_unique<NearMajority>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "near_majority", MakeNearMajority);

}  // namespace
}  // namespace lra
