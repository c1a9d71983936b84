#include "tasks/token_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "datasets/id_content.h"
#include "datasets/loader.h"
#include "lra/status_macros.h"
#include "tasks/kneser_ney.h"
#include "tasks/neighbour_counts.h"
#include "tasks/size_baseline.h"

namespace lra {
namespace {

// The context of a text's first token.
constexpr int32_t kStart = 0;
constexpr int kNgramOrder = 5;
// Tables of all pairs of ids have 8 bytes each, those of all triples 4: beyond so many ids they do
// not fit into memory.
constexpr int64_t kMaxPairIds = 4096, kMaxTripleIds = 512;

// Calls visit(example, ids, n) for each token ids[n] that can be asked for, whether it is hidden or
// not.
template <class Visit>
void ForEachToken(const SplitView& split, Visit visit) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    for (size_t n = split.prompt_tokens(i); n < ids.size(); ++n) visit(i, ids, n);
  }
}

// Calls visit(example, ids, n, id) for each guessed token: `id` is to stand at place n of `ids`,
// which show the mask where a token is hidden.
template <class Visit>
void ForEachTarget(const SplitView& split, Visit visit) {
  if (!split.spec().hides_tokens()) {
    ForEachToken(split, [&](int64_t i, absl::Span<const int32_t> ids, size_t n) {
      visit(i, ids, n, ids[n]);
    });
    return;
  }
  for (int64_t i = 0; i < split.size(); ++i) {
    const HostBatch seen = MakeBatch(split, {i});
    auto label = seen.labels.begin();
    for (size_t n = 0; n < seen.hidden.size(); ++n)
      if (seen.hidden[n] != 0) visit(i, absl::MakeConstSpan(seen.tokens), n, *label++);
  }
}

// What a table answers by.
using ContextOf = decltype(TokenContext::of);
int64_t Nothing(absl::Span<const int32_t>, size_t) { return 0; }
int64_t Previous(absl::Span<const int32_t> ids, size_t n) { return n == 0 ? kStart : ids[n - 1]; }
int64_t Place(absl::Span<const int32_t>, size_t n) { return static_cast<int64_t>(n); }

// The value of the same colour one pixel back.
ContextOf PreviousOf(int64_t pixel_tokens) {
  return [pixel_tokens](absl::Span<const int32_t> ids, size_t n) -> int64_t {
    const int64_t before = static_cast<int64_t>(n) - pixel_tokens;
    return before < 0 ? kStart : ids[before];
  };
}

// Left + up - corner of a picture's pixel, and what that missed by in the pixel's colour before.
class Slope {
 public:
  explicit Slope(const TaskSpec& spec)
      : side_(std::max(1, spec.image_side_pixels())),
        of_pixel_(std::max(1, spec.pixel_tokens())),
        most_(spec.vocabulary_size() - 1) {}

  int64_t operator()(absl::Span<const int32_t> ids, size_t n) const {
    const auto token = static_cast<int64_t>(n);
    const bool is_first = token % of_pixel_ == 0;
    const int64_t missed = is_first ? 0 : ids[token - 1] - Guess(ids, token - 1);
    return std::clamp<int64_t>(Guess(ids, token) + missed, 0, most_);
  }

 private:
  int64_t Guess(absl::Span<const int32_t> ids, int64_t token) const {
    const int64_t row = side_ * of_pixel_, pixel = token / of_pixel_;
    const bool has_left = pixel % side_ > 0, has_up = token >= row;
    if (!has_left && !has_up) return kStart;
    if (!has_left) return ids[token - row];
    const int64_t left = ids[token - of_pixel_];
    if (!has_up) return left;
    return std::clamp<int64_t>(left + ids[token - row] - ids[token - row - of_pixel_], 0, most_);
  }

  const int64_t side_, of_pixel_, most_;
};

// In place of an id where all are alike.
constexpr int32_t kNoneIsLikeliest = -1;

// What was learned from a training split.
class Guesser {
 public:
  virtual ~Guesser() = default;
  // The probability of `id` at place n; where ids are not hidden it is ids[n].
  virtual double p(absl::Span<const int32_t> ids, size_t n, int32_t id) const = 0;
  // The likeliest id at place n, the lowest of equals; or kNoneIsLikeliest, which is never right.
  virtual int32_t best(absl::Span<const int32_t> ids, size_t n) const = 0;
};

// Probabilities of V ids in each context.
class Table : public Guesser {
 public:
  Table(int64_t ids, int64_t contexts, ContextOf context_of)
      : ids_(ids), context_of_(context_of), p_(contexts * ids), best_(contexts, kNoneIsLikeliest) {}

  double* row(int64_t context) { return p_.data() + context * ids_; }
  // To be called when the rows are full; without it none is likeliest.
  void FindBest() {
    for (size_t r = 0; r < best_.size(); ++r)
      best_[r] = static_cast<int32_t>(std::max_element(row(r), row(r) + ids_) - row(r));
  }

  double p(absl::Span<const int32_t> ids, size_t n, int32_t id) const override {
    return p_[context_of_(ids, n) * ids_ + id];
  }
  int32_t best(absl::Span<const int32_t> ids, size_t n) const override {
    return best_[context_of_(ids, n)];
  }

 private:
  const int64_t ids_;
  const ContextOf context_of_;
  std::vector<double> p_;
  std::vector<int32_t> best_;
};

using Fitted = std::unique_ptr<Guesser>;
using FitGuesser = std::function<Fitted(const SplitView& train)>;
constexpr int64_t kAnyIds = std::numeric_limits<int64_t>::max();

Fitted Uniform(const SplitView& train) {
  const TaskSpec& spec = train.spec();
  auto table = std::make_unique<Table>(spec.classes(), 1, Nothing);
  const int first = FirstId(spec);
  std::fill(table->row(0) + first, table->row(0) + spec.classes(), 1.0 / (spec.classes() - first));
  return table;
}

// [V], counts from one on.
std::vector<double> UnigramOf(const SplitView& train) {
  std::vector<double> p(train.spec().classes(), 1.0);
  auto total = static_cast<double>(p.size());
  ForEachToken(train, [&](int64_t, absl::Span<const int32_t> ids, size_t n) {
    ++p[ids[n]];
    ++total;
  });
  for (double& count : p) count /= total;
  return p;
}

Fitted Unigram(const SplitView& train) {
  const std::vector<double> p = UnigramOf(train);
  auto table = std::make_unique<Table>(static_cast<int64_t>(p.size()), 1, Nothing);
  std::copy(p.begin(), p.end(), table->row(0));
  table->FindBest();
  return table;
}

// By what was counted in each context, and one unigram beside it.
Fitted Conditional(const SplitView& train, int64_t contexts, ContextOf context_of) {
  const std::vector<double> unigram = UnigramOf(train);
  const auto ids_number = static_cast<int64_t>(unigram.size());
  auto table = std::make_unique<Table>(ids_number, contexts, context_of);
  std::vector<double> totals(contexts);
  ForEachToken(train, [&](int64_t, absl::Span<const int32_t> ids, size_t n) {
    const int64_t context = context_of(ids, n);
    ++table->row(context)[ids[n]];
    ++totals[context];
  });
  for (int64_t x = 0; x < contexts; ++x) {
    double* const row = table->row(x);
    for (int64_t y = 0; y < ids_number; ++y) row[y] = (row[y] + unigram[y]) / (totals[x] + 1);
  }
  table->FindBest();
  return table;
}

Fitted Bigram(const SplitView& train) {
  return Conditional(train, train.spec().vocabulary_size(), Previous);
}

Fitted Channel(const SplitView& train) {
  return Conditional(train, train.spec().classes(), PreviousOf(train.spec().pixel_tokens()));
}

Fitted BySlope(const SplitView& train) {
  return Conditional(train, train.spec().classes(), Slope(train.spec()));
}

// Only of images, which are all of one length.
Fitted ByPlace(const SplitView& train) {
  return Conditional(train, train.max_length_tokens(), Place);
}

class NgramGuesser : public Guesser {
 public:
  explicit NgramGuesser(const SplitView& train)
      : model_(kNgramOrder, train.spec().vocabulary_size(), train.spec().zero_is_token()) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < train.size(); ++i) {
      train.Read(i, &ids);
      model_.Count(ids, train.prompt_tokens(i));
    }
    model_.Fit();
  }
  double p(absl::Span<const int32_t> ids, size_t n, int32_t) const override {
    return model_.P(ids, n);
  }
  int32_t best(absl::Span<const int32_t> ids, size_t n) const override {
    return model_.Best(ids, n);
  }

 private:
  KneserNey model_;
};

class BetweenNeighbours : public Guesser {
 public:
  explicit BetweenNeighbours(const SplitView& train) : counts_(UnigramOf(train)) {
    ForEachToken(train,
                 [&](int64_t, absl::Span<const int32_t> ids, size_t n) { counts_.Count(ids, n); });
  }
  double p(absl::Span<const int32_t> ids, size_t n, int32_t id) const override {
    return counts_.P(ids, n)[id];
  }
  int32_t best(absl::Span<const int32_t> ids, size_t n) const override {
    const std::vector<double> row = counts_.P(ids, n);
    return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }

 private:
  NeighbourCounts counts_;
};

Fitted BothSides(const SplitView& train) { return std::make_unique<BetweenNeighbours>(train); }

Fitted Ngram(const SplitView& train) { return std::make_unique<NgramGuesser>(train); }

// Where prompts cover all that a view leaves of the examples, there would be a score of nothing.
absl::Status CheckTargets(const SplitView& split) {
  for (int64_t i = 0; i < split.size(); ++i)
    if (split.prompt_tokens(i) < split.length_tokens(i)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("split ", split.name(), " leaves nothing to guess: all tokens of its ",
                   split.size(), " examples are given; raise view.max_length_tokens"));
}

TokenScores Score(const Guesser& guesser, const SplitView& split) {
  TokenScores scores;
  scores.targets.resize(split.size());
  scores.correct.resize(split.size());
  scores.nats.resize(split.size());
  ForEachTarget(split, [&](int64_t example, absl::Span<const int32_t> ids, size_t n, int32_t id) {
    ++scores.targets[example];
    scores.correct[example] += guesser.best(ids, n) == id;
    scores.nats[example] -= std::log(guesser.p(ids, n, id));
  });
  return scores;
}

class TokenBaseline : public BaselineMethod {
 public:
  // `max_ids` is the largest number of ids whose tables fit into memory.
  TokenBaseline(BaselineFacts facts, FitGuesser fit, int64_t max_ids)
      : BaselineMethod(std::move(facts)), fit_(std::move(fit)), max_ids_(max_ids) {}

  std::string WhyNot(const TaskSpec& seen) const override {
    if (seen.classes() <= max_ids_) return "";
    return absl::StrCat("there are ", seen.classes(), " ids, and its tables are made for at most ",
                        max_ids_);
  }

  absl::StatusOr<BaselineLogits> Predict(const BaselineData&,
                                         const BaselineOptions&) const override {
    return absl::UnimplementedError(absl::StrCat(facts().name, " guesses tokens, not labels"));
  }

  absl::StatusOr<std::vector<TokenScores>> ScoreTokens(const BaselineData& data,
                                                       const BaselineOptions&) const override {
    for (const SplitView* split : data.scored) LRA_RETURN_IF_ERROR(CheckTargets(*split));
    const Fitted guesser = fit_(data.train);
    std::vector<TokenScores> scores;
    for (const SplitView* split : data.scored) scores.push_back(Score(*guesser, *split));
    return scores;
  }

 private:
  const FitGuesser fit_;
  const int64_t max_ids_;
};

template <class Add>
void AddOfImages(bool has_colours, const Add& add) {
  add({.name = "pixel_place",
       .description = "How often each value occurs at a pixel's place.",
       .bar = "places",
       .ignores = "all other pixels"},
      ByPlace);
  if (has_colours) {
    add({.name = "channel_bigram",
         .description = "How often each value follows the pixel before's of the same colour.",
         .bar = "bigrams of a colour",
         .ignores = "all but one value"},
        Channel);
  }
  add({.name = "slope",
       .description = "How often each value occurs where left + up - corner, and by how much that "
                      "missed the colour before, say the same.",
       .bar = "slopes",
       .ignores = "all but the nearest values",
       .is_required = false},
      BySlope);
}

}  // namespace

std::vector<std::unique_ptr<BaselineMethod>> MakeTokenBaselines(TokenBaselineKind kind) {
  std::vector<std::unique_ptr<BaselineMethod>> methods;
  const auto add = [&](BaselineFacts facts, FitGuesser fit, int64_t max_ids = kAnyIds) {
    methods.push_back(std::make_unique<TokenBaseline>(std::move(facts), std::move(fit), max_ids));
  };
  add({.name = "uniform",
       .description = "Every token alike.",
       .bar = "chance",
       .ignores = "the data"},
      Uniform);
  add({.name = "unigram",
       .description = "How often each token is to be guessed in the training split.",
       .bar = "unigrams",
       .ignores = "all other tokens",
       .ladder = "n-grams"},
      Unigram);
  if (kind.are_hidden) {
    add({.name = "two_sided",
         .description = "How often each token stands between the one in front and the one behind.",
         .bar = "neighbours",
         .ignores = "all tokens but two",
         .is_quick = false,
         .ladder = "n-grams"},
        BothSides, kMaxTripleIds);
    return methods;
  }
  add({.name = "bigram",
       .description = "How often each token follows the one in front of it.",
       .bar = "bigrams",
       .ignores = "all tokens but the one in front",
       .ladder = "n-grams"},
      Bigram, kMaxPairIds);
  if (kind.is_image) AddOfImages(kind.has_colours, add);
  methods.push_back(MakeGzipBaseline());
  if (kind.is_image) methods.push_back(MakePngBaseline());
  add({.name = "ngram",
       .description = absl::StrCat("How often each token follows the ", kNgramOrder - 1,
                                   " in front of it, smoothed as by Kneser and Ney."),
       .bar = "n-grams",
       .ignores = "all tokens but the nearest",
       .is_required = false,
       .is_quick = false,
       .ladder = "n-grams"},
      Ngram);
  return methods;
}

std::unique_ptr<BaselineMethod> MakeContextBaseline(BaselineFacts facts, TokenContext context) {
  const FitGuesser fit = [context = std::move(context)](const SplitView& train) {
    return Conditional(train, context.contexts, context.of);
  };
  return std::make_unique<TokenBaseline>(std::move(facts), fit, kAnyIds);
}

}  // namespace lra
