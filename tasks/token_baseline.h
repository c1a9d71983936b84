// Baselines where tokens are guessed (view.target NEXT or MASKED): what can be had without a model.
#ifndef LRA_TASKS_TOKEN_BASELINE_H_
#define LRA_TASKS_TOKEN_BASELINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "tasks/baseline_method.h"

namespace lra {

struct TokenBaselineKind {
  bool is_image = false;
  bool has_colours = false;  // view.grey=COLOURS
  bool are_hidden = false;   // view.target=MASKED
};

// By frequencies of the training split's guessed tokens, weakest first, each with a ScoreTokens().
// FailedPrecondition where a scored split has no token to guess. `bigram` can be had of up to 4,096
// ids, `two_sided` of up to 512 (WhyNot).
//   uniform: every id alike, but for padding
//   unigram: how often each token occurs; counts begin at one, so that no probability is 0
//   bigram: how often it occurs after the token in front of it, or as the first one. What was
//     counted stands beside one unigram: p(y | x) = (count(x y) + p(y)) / (count(x) + 1)
//   pixel_place (images): the same after the pixel's place instead of the token in front
//   channel_bigram (colours): the same after the value of the same colour in the pixel before
//   slope (images): the same after left + up - corner, in colours and what that missed by in the
//     colour before
//   gzip, png (images): the sizes of packed examples (tasks/size_baseline.h)
//   ngram: of the four tokens in front (tasks/kneser_ney.h); not quick
// Of hidden tokens uniform, unigram and
//   two_sided: how often each occurs between its two neighbours, where these are not hidden
std::vector<std::unique_ptr<BaselineMethod>> MakeTokenBaselines(TokenBaselineKind kind = {});

// What a task's own table of frequencies answers by: the context of place n, 0 .. contexts - 1, as
// it follows from the tokens in front, ids[0] .. ids[n - 1].
struct TokenContext {
  int64_t contexts = 1;
  std::function<int64_t(absl::Span<const int32_t> ids, size_t n)> of;
};

// How often each token is to be guessed in each context, counted as `bigram` counts: for
// Task::TokenBaselines.
std::unique_ptr<BaselineMethod> MakeContextBaseline(BaselineFacts facts, TokenContext context);

}  // namespace lra

#endif  // LRA_TASKS_TOKEN_BASELINE_H_
