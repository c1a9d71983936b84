#include "inspect/attended_examples.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "lra/config.h"
#include "models/next_token_model.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

absl::StatusOr<ChosenExamples> ChooseOne(const ExampleChoice& choice,
                                         const OpenedCheckpoint& opened) {
  const int64_t example = *choice.example;
  if (example < 0 || example >= opened.split.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--example: is ", example, ", must be 0 to ",
                                                   opened.split.size() - 1, ", a place in split ",
                                                   opened.split.name()));
  }
  const int64_t tokens = TokensSeen(opened, example);
  if (choice.max_tokens > 0 && tokens > choice.max_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("--max-tokens: is ", choice.max_tokens,
                                                   ", but example ", example, " has ", tokens,
                                                   " tokens"));
  }
  return ChosenExamples{{example}, 0};
}

}  // namespace

absl::Status CheckHasWeights(const ExperimentConfig& config) {
  if (config.attention().name() != kNoAttention) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("block \"", config.block().name(),
                                                 "\" uses no attention: there are no weights"));
}

bool HasCls(const OpenedCheckpoint& opened) {
  return HasCls(opened.state.config(), opened.state.spec());
}

int64_t TokensSeen(const OpenedCheckpoint& opened, int64_t example) {
  const int64_t least = opened.model->depends_on_padding() ? opened.split.fixed_length_tokens() : 0;
  return std::max<int64_t>(opened.split.longest_tokens(example), least) + (HasCls(opened) ? 1 : 0);
}

absl::StatusOr<ChosenExamples> ChooseExamples(const ExampleChoice& choice,
                                              const OpenedCheckpoint& opened) {
  if (choice.example) return ChooseOne(choice, opened);
  ChosenExamples chosen;
  int64_t shortest = 0, longer = 0;
  for (int64_t i = 0; i < opened.split.size(); ++i) {
    if (static_cast<int64_t>(chosen.examples.size()) == choice.examples) break;
    const int64_t tokens = TokensSeen(opened, i);
    shortest = shortest == 0 ? tokens : std::min(shortest, tokens);
    if (choice.max_tokens > 0 && tokens > choice.max_tokens) {
      ++longer;
      continue;
    }
    chosen.passed_over = longer;
    chosen.examples.push_back(i);
  }
  if (!chosen.examples.empty()) return chosen;
  return absl::InvalidArgumentError(
      absl::StrCat("--max-tokens: is ", choice.max_tokens, ", but the shortest example of split ",
                   opened.split.name(), " has ", shortest,
                   " tokens; a matrix of weights takes memory with the "
                   "square of that"));
}

void VisitExample(const OpenedCheckpoint& opened, int64_t example,
                  const Classifier::AttentionVisitor& visit) {
  const HostBatch batch = MakeBatch(opened.split, {example});
  opened.model->VisitAttention(opened.model->depends_on_padding() ? batch : TrimPadding(batch),
                               visit);
}

}  // namespace lra
