#include "tasks/token_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

// The context of a text's first token.
constexpr int32_t kStart = 0;

// Calls visit(example, previous id, id) for each guessed token.
template <class Visit>
void ForEachTarget(const SplitView& split, Visit visit) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    for (size_t n = split.prompt_tokens(i); n < ids.size(); ++n)
      visit(i, n == 0 ? kStart : ids[n - 1], ids[n]);
  }
}

// Probabilities of V ids, one row for each context of V + 1: an id in front, or whatever is there.
class Table {
 public:
  Table(int64_t ids, int64_t rows) : ids_(ids), p_(rows * ids), best_(rows) {}

  double* row(int64_t context) { return p_.data() + context % rows() * ids_; }
  double p(int64_t context, int32_t id) const { return p_[context % rows() * ids_ + id]; }
  // The likeliest id, the lowest of equals.
  int32_t best(int64_t context) const { return best_[context % rows()]; }
  void FindBest() {
    for (int64_t r = 0; r < rows(); ++r)
      best_[r] = static_cast<int32_t>(std::max_element(row(r), row(r) + ids_) - row(r));
  }

 private:
  int64_t rows() const { return static_cast<int64_t>(best_.size()); }

  int64_t ids_;
  std::vector<double> p_;
  std::vector<int32_t> best_;
};

Table Uniform(const SplitView& train) {
  const TaskSpec& spec = train.spec();
  Table table(spec.vocabulary_size(), 1);
  const int first = spec.zero_is_token() ? 0 : 1;
  std::fill(table.row(0) + first, table.row(0) + spec.vocabulary_size(),
            1.0 / (spec.vocabulary_size() - first));
  return table;
}

Table Unigram(const SplitView& train) {
  const int64_t ids = train.spec().vocabulary_size();
  Table table(ids, 1);
  double* const p = table.row(0);
  std::fill(p, p + ids, 1.0);
  double total = static_cast<double>(ids);
  ForEachTarget(train, [&](int64_t, int32_t, int32_t id) {
    ++p[id];
    ++total;
  });
  std::transform(p, p + ids, p, [total](double count) { return count / total; });
  return table;
}

Table Bigram(const SplitView& train) {
  const int64_t ids = train.spec().vocabulary_size();
  Table unigram = Unigram(train), table(ids, ids);
  std::vector<double> firsts(ids);
  ForEachTarget(train, [&](int64_t, int32_t previous, int32_t id) {
    ++table.row(previous)[id];
    ++firsts[previous];
  });
  for (int64_t x = 0; x < ids; ++x) {
    for (int64_t y = 0; y < ids; ++y)
      table.row(x)[y] = (table.row(x)[y] + unigram.row(0)[y]) / (firsts[x] + 1);
  }
  return table;
}

TokenScores Score(const Table& table, const SplitView& split) {
  TokenScores scores;
  scores.targets.resize(split.size());
  scores.correct.resize(split.size());
  scores.nats.resize(split.size());
  ForEachTarget(split, [&](int64_t example, int32_t previous, int32_t id) {
    ++scores.targets[example];
    scores.correct[example] += table.best(previous) == id;
    scores.nats[example] -= std::log(table.p(previous, id));
  });
  return scores;
}

class TokenBaseline : public BaselineMethod {
 public:
  TokenBaseline(BaselineFacts facts, Table (*fit)(const SplitView& train))
      : BaselineMethod(std::move(facts)), fit_(fit) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData&,
                                         const BaselineOptions&) const override {
    return absl::UnimplementedError(absl::StrCat(facts().name, " guesses tokens, not labels"));
  }

  absl::StatusOr<std::vector<TokenScores>> ScoreTokens(const BaselineData& data,
                                                       const BaselineOptions&) const override {
    Table table = fit_(data.train);
    table.FindBest();
    std::vector<TokenScores> scores;
    for (const SplitView* split : data.scored) scores.push_back(Score(table, *split));
    return scores;
  }

 private:
  Table (*const fit_)(const SplitView& train);
};

}  // namespace

std::vector<std::unique_ptr<BaselineMethod>> MakeTokenBaselines() {
  std::vector<std::unique_ptr<BaselineMethod>> methods;
  const auto add = [&](BaselineFacts facts, Table (*fit)(const SplitView&)) {
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
  return methods;
}

}  // namespace lra
