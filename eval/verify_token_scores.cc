#include "eval/verify_token_scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lra {
namespace {

enum class ScoreMatch { kSameBits, kRounding, kMoved };

struct JudgedScore {
  ScoreMatch match = ScoreMatch::kMoved;
  double expected = 0;
};

// How far rounding moves a logit of an example.
double Off(float largest_logit, double rounding) {
  return rounding * std::max(1.0, double{largest_logit});
}

// Whether rounding may turn an example that is right or wrong as a whole. Then a target and another
// guess were equal up to twice that, and the target's probability was hardly above a half.
bool MayTurn(const Sums& one, float largest_logit, double rounding) {
  return TotalOf(one, kNats) >= std::numbers::ln2 - Off(largest_logit, rounding);
}

// By how much rounding may move a value that `linear` is of an example.
double Allowed(const StoredScores& stored, const Sums& one, double linear, float largest_logit,
               double rounding) {
  const std::vector<std::string>& read = stored.metric.traits().sums;
  if (std::find(read.begin(), read.end(), kNats) == read.end())
    return rounding * std::max(1.0, std::abs(linear));
  const double off = Off(largest_logit, rounding);
  const auto targets = static_cast<double>(CountOf(one, kTargets));
  const double nats = TotalOf(one, kNats);
  Sums moved = one;
  // 1 - p is at most -log p.
  (*moved.mutable_totals())[kNats] = nats + 2 * off * std::min(targets, nats) + off * off * targets;
  const double value =
      stored.metric.LinearValue(moved, stored.result.sums(), stored.result.examples());
  return std::abs(value - linear);
}

// Judges a value of a metric that gives every example 0 or 1, which is stored as it is.
JudgedScore JudgeWhole(double held, double expected, bool may_turn) {
  if (held == expected) return {ScoreMatch::kSameBits, expected};
  const bool is_whole = held == 0 || held == 1;
  return {is_whole && may_turn ? ScoreMatch::kRounding : ScoreMatch::kMoved, expected};
}

JudgedScore Judge(const StoredScores& stored, const SampledScores& remade, size_t i,
                  double rounding) {
  const double held = stored.values[remade.examples[i]];
  const Sums& run = stored.result.sums();
  Sums one;
  remade.sums.Get(i, &one);
  if (stored.metric.traits().is_proportion) {
    return JudgeWhole(held, stored.metric.Value(one),
                      MayTurn(one, remade.largest_logits[i], rounding));
  }
  const double linear = stored.metric.LinearValue(one, run, stored.result.examples());
  // Where all examples have as many targets, values are stored as they are.
  const bool is_plain =
      static_cast<double>(CountOf(one, kTargets)) * static_cast<double>(stored.result.examples()) ==
      static_cast<double>(CountOf(run, kTargets));
  if (held == linear || (is_plain && held == stored.metric.Value(one)))
    return {ScoreMatch::kSameBits, linear};
  const double allowed = Allowed(stored, one, linear, remade.largest_logits[i], rounding);
  return {std::abs(held - linear) <= allowed ? ScoreMatch::kRounding : ScoreMatch::kMoved, linear};
}

void CountMatch(ScoreMatch match, RemadeScores* scores) {
  scores->same_bits += match == ScoreMatch::kSameBits;
  scores->rounding += match == ScoreMatch::kRounding;
  scores->moved += match == ScoreMatch::kMoved;
}

std::string ScoreText(int64_t example, double held, double expected) {
  return absl::StrFormat("example %d: holds %.17g, the checkpoint gives %.17g", example, held,
                         expected);
}

}  // namespace

bool CompareTokenScores(const std::string& path, const StoredScores& stored,
                        const SampledScores& remade, double rounding, Verification* verification) {
  constexpr int64_t kNamed = 10;
  int64_t changed = 0, same_bits = 0;
  const auto change = [&](const std::string& what) {
    if (++changed <= kNamed) verification->changes.push_back(absl::StrCat(path, ": ", what));
  };
  const auto examples = static_cast<int64_t>(stored.values.size());
  for (size_t i = 0; i < remade.examples.size(); ++i) {
    const int64_t example = remade.examples[i];
    if (example >= examples) {
      change(absl::StrCat("example ", example, ": is not among the ", examples, " that it holds"));
      continue;
    }
    const JudgedScore score = Judge(stored, remade, i, rounding);
    CountMatch(score.match, &verification->scores);
    same_bits += score.match == ScoreMatch::kSameBits;
    if (score.match == ScoreMatch::kMoved)
      change(ScoreText(example, stored.values[example], score.expected));
  }
  if (changed > kNamed) {
    verification->changes.push_back(
        absl::StrCat(path, ": ", changed - kNamed, " more examples differ like these"));
  }
  return same_bits == examples;
}

std::string PlaceInTokenScores(const StoredScores& stored, const SampledScores& remade,
                               double rounding) {
  std::optional<int64_t> first;
  std::string text;
  for (size_t i = 0; i < remade.examples.size(); ++i) {
    const int64_t example = remade.examples[i];
    if (example >= static_cast<int64_t>(stored.values.size()) || (first && *first < example))
      continue;
    const JudgedScore score = Judge(stored, remade, i, rounding);
    if (score.match != ScoreMatch::kMoved) continue;
    first = example;
    text = absl::StrCat("; ", ScoreText(example, stored.values[example], score.expected));
  }
  return text;
}

}  // namespace lra
