#include "tasks/token_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tasks/kneser_ney.h"

namespace lra {
namespace {

// The context of a text's first token.
constexpr int32_t kStart = 0;
constexpr int kNgramOrder = 5;

// Calls visit(example, ids, n) for each guessed token ids[n].
template <class Visit>
void ForEachTarget(const SplitView& split, Visit visit) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    for (size_t n = split.prompt_tokens(i); n < ids.size(); ++n) visit(i, ids, n);
  }
}

// What a table answers by.
using ContextOf = int64_t (*)(absl::Span<const int32_t> ids, size_t n);
int64_t Nothing(absl::Span<const int32_t>, size_t) { return 0; }
int64_t Previous(absl::Span<const int32_t> ids, size_t n) { return n == 0 ? kStart : ids[n - 1]; }
int64_t Place(absl::Span<const int32_t>, size_t n) { return static_cast<int64_t>(n); }

// What was learned from a training split.
class Guesser {
 public:
  virtual ~Guesser() = default;
  virtual double p(absl::Span<const int32_t> ids, size_t n) const = 0;  // of ids[n]
  // The likeliest id at place n, the lowest of equals.
  virtual int32_t best(absl::Span<const int32_t> ids, size_t n) const = 0;
};

// Probabilities of V ids in each context.
class Table : public Guesser {
 public:
  Table(int64_t ids, int64_t contexts, ContextOf context_of)
      : ids_(ids), context_of_(context_of), p_(contexts * ids), best_(contexts) {}

  double* row(int64_t context) { return p_.data() + context * ids_; }
  // To be called when the rows are full.
  void FindBest() {
    for (size_t r = 0; r < best_.size(); ++r)
      best_[r] = static_cast<int32_t>(std::max_element(row(r), row(r) + ids_) - row(r));
  }

  double p(absl::Span<const int32_t> ids, size_t n) const override {
    return p_[context_of_(ids, n) * ids_ + ids[n]];
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

Fitted Uniform(const SplitView& train) {
  const TaskSpec& spec = train.spec();
  auto table = std::make_unique<Table>(spec.vocabulary_size(), 1, Nothing);
  const int first = spec.zero_is_token() ? 0 : 1;
  std::fill(table->row(0) + first, table->row(0) + spec.vocabulary_size(),
            1.0 / (spec.vocabulary_size() - first));
  table->FindBest();
  return table;
}

// [V], counts from one on.
std::vector<double> UnigramOf(const SplitView& train) {
  std::vector<double> p(train.spec().vocabulary_size(), 1.0);
  auto total = static_cast<double>(p.size());
  ForEachTarget(train, [&](int64_t, absl::Span<const int32_t> ids, size_t n) {
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
  ForEachTarget(train, [&](int64_t, absl::Span<const int32_t> ids, size_t n) {
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
  double p(absl::Span<const int32_t> ids, size_t n) const override { return model_.P(ids, n); }
  int32_t best(absl::Span<const int32_t> ids, size_t n) const override {
    return model_.Best(ids, n);
  }

 private:
  KneserNey model_;
};

Fitted Ngram(const SplitView& train) { return std::make_unique<NgramGuesser>(train); }

TokenScores Score(const Guesser& guesser, const SplitView& split) {
  TokenScores scores;
  scores.targets.resize(split.size());
  scores.correct.resize(split.size());
  scores.nats.resize(split.size());
  ForEachTarget(split, [&](int64_t example, absl::Span<const int32_t> ids, size_t n) {
    ++scores.targets[example];
    scores.correct[example] += guesser.best(ids, n) == ids[n];
    scores.nats[example] -= std::log(guesser.p(ids, n));
  });
  return scores;
}

class TokenBaseline : public BaselineMethod {
 public:
  TokenBaseline(BaselineFacts facts, Fitted (*fit)(const SplitView& train))
      : BaselineMethod(std::move(facts)), fit_(fit) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData&,
                                         const BaselineOptions&) const override {
    return absl::UnimplementedError(absl::StrCat(facts().name, " guesses tokens, not labels"));
  }

  absl::StatusOr<std::vector<TokenScores>> ScoreTokens(const BaselineData& data,
                                                       const BaselineOptions&) const override {
    const Fitted guesser = fit_(data.train);
    std::vector<TokenScores> scores;
    for (const SplitView* split : data.scored) scores.push_back(Score(*guesser, *split));
    return scores;
  }

 private:
  Fitted (*const fit_)(const SplitView& train);
};

}  // namespace

std::vector<std::unique_ptr<BaselineMethod>> MakeTokenBaselines(bool is_image) {
  std::vector<std::unique_ptr<BaselineMethod>> methods;
  const auto add = [&](BaselineFacts facts, Fitted (*fit)(const SplitView&)) {
    methods.push_back(std::make_unique<TokenBaseline>(std::move(facts), fit));
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
  add({.name = "bigram",
       .description = "How often each token follows the one in front of it.",
       .bar = "bigrams",
       .ignores = "all tokens but the one in front",
       .ladder = "n-grams"},
      Bigram);
  if (is_image) {
    add({.name = "pixel_place",
         .description = "How often each value occurs at a pixel's place.",
         .bar = "places",
         .ignores = "all other pixels"},
        ByPlace);
  }
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

}  // namespace lra
