// The sentences under a table that say how to read it.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/multiple.h"
#include "eval/starting_run.h"
#include "eval/table_cost.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

std::string ExplainMetric(const Metric& metric, const LeaderboardOptions& options) {
  const MetricTraits& traits = metric.traits();
  return absl::StrFormat("%s on the %s split%s.", traits.title, options.split,
                         traits.is_higher_better ? "" : "; lower is better");
}

using CellTest = bool (*)(const LeaderboardCell&);

bool AnyCellOf(const LeaderboardTable& table, CellTest test) {
  for (const LeaderboardRow& row : table.rows) {
    for (const auto& cell : row.cells) {
      if (cell && test(*cell)) return true;
    }
  }
  return false;
}

bool AnyCell(const Leaderboard& board, CellTest test) {
  return std::any_of(board.tables.begin(), board.tables.end(),
                     [&](const LeaderboardTable& table) { return AnyCellOf(table, test); });
}

bool HasAverage(const Leaderboard& board) {
  return std::any_of(board.tables.begin(), board.tables.end(),
                     [](const LeaderboardTable& table) { return table.has_average(); });
}

bool HasRunsAbove(const LeaderboardCell& cell) { return cell.learned.runs_above.has_value(); }

bool HasBlocks(const LeaderboardCell& cell) {
  return cell.moments && cell.moments->blocks != cell.moments->examples;
}

// How a run is told to be singly above a baseline (RunIsAbove in eval/row_statistics.h), which the
// metric's kind decides. A board of both kinds names the metrics of each.
std::string ExplainSinglyAbove(const Leaderboard& board) {
  constexpr char kByMean[] = "one-sided p < 0.005 of each run's paired differences, over examples";
  std::string by_test = "exact McNemar test, p < 0.005";
  if (AnyCell(board, HasBlocks))
    by_test += ", or, of examples in blocks, by each run's paired differences";
  std::set<std::string> exact, by_mean;
  for (const LeaderboardTable& table : board.tables) {
    if (!AnyCellOf(table, HasRunsAbove)) continue;
    (table.metric->traits().is_proportion ? exact : by_mean).insert(table.metric->name());
  }
  if (by_mean.empty()) return by_test;
  if (exact.empty()) return kByMean;
  return absl::StrCat(absl::StrJoin(exact, ", "), ": ", by_test, "; ", absl::StrJoin(by_mean, ", "),
                      ": ", kByMean);
}

bool HasDifferences(const Leaderboard& board) {
  for (const LeaderboardTable& table : board.tables) {
    for (const PublishedRows& published : table.published) {
      for (const PublishedRows::Row& row : published.rows) {
        if (!row.ours.empty()) return true;
      }
    }
  }
  return false;
}

// Sentences about marks that only some boards have.
std::vector<std::string> ExplainMarks(const Leaderboard& board) {
  const struct {
    CellTest is_there;
    std::string sentence;
  } marks[] = {
      {[](const LeaderboardCell& cell) { return !cell.letters.empty(); },
       "Rows that share a letter in a column could not be told apart (Holm, 5 % a column); that "
       "does not make them equal."},
      {[](const LeaderboardCell& cell) {
         return !cell.letter_groups.empty() && cell.letter_groups.back() >= kAlphabet;
       },
       "Columns that need more than 26 letters go on with numbers: a2 is another letter than a."},
      {[](const LeaderboardCell& cell) { return cell.trained < cell.runs(); },
       "4/5: four of five runs trained, that is, did not diverge and are above the majority class "
       "on the same examples; score, interval and letters are theirs. FAIL: none did; in brackets "
       "the mean score of those that ended."},
      {[](const LeaderboardCell& cell) { return cell.all_runs.has_value(); },
       "All runs: the mean with each failure counted as guessing, and an interval that covers how "
       "often runs fail. Where a column has failures, order and averages use it."},
      {HasRunsAbove,
       absl::StrCat(
           "Learned: better than every baseline that the task requires for it on the same "
           "examples, at 2.5 % over the whole table (Holm), with at least half of the runs above "
           "singly. 2/3 above: two of three runs are singly better than these (",
           ExplainSinglyAbove(board),
           "). Beats: the bars that the cell is above, each by itself (one-sided p < 0.025).")},
      {[](const LeaderboardCell& cell) { return cell.starts.contains(kAnotherEncoder); },
       "From another run's encoder: all seeds begin from it; the interval does not cover another "
       "one, and the budget does not count its training."},
      {[](const LeaderboardCell& cell) { return cell.starts.contains(kOwnEncoder); },
       "From another run's encoder, each seed its own: made by one recipe, each with the run's "
       "seed; "
       "the interval covers other encoders of that recipe, and the budget does not count their "
       "training."},
      {[](const LeaderboardCell& cell) { return cell.starts.contains(kAnotherWeights); },
       "From another run's weights: all seeds begin from them; the interval does not cover "
       "others, and the budget does not count their training."},
      {[](const LeaderboardCell& cell) {
         return cell.lacks_examples() && cell.basis == Basis::kCounts;
       },
       "(counts): scores of examples are not on record; interval and comparisons are the widest "
       "that the counts of right answers allow."},
      {[](const LeaderboardCell& cell) { return cell.basis == Basis::kSeeds && cell.interval; },
       "(seeds only): scores of examples are not on record; the interval says nothing about new "
       "examples (Student's t over seeds)."}};
  std::vector<std::string> sentences;
  for (const auto& mark : marks) {
    if (AnyCell(board, mark.is_there)) sentences.push_back(mark.sentence);
  }
  return sentences;
}

}  // namespace

std::vector<std::string> Legend(const Leaderboard& board) {
  const LeaderboardOptions& options = board.options;
  std::vector<std::string> sentences;
  std::set<std::string> explained;
  for (const LeaderboardTable& table : board.tables) {
    if (explained.insert(table.metric->name()).second)
      sentences.push_back(ExplainMetric(*table.metric, options));
  }
  sentences.push_back(absl::StrFormat(
      "[low, high]: %g %% interval for the method's mean score over new seeds and new examples. 1 "
      "run: for this one trained model only.",
      100 * options.confidence));
  for (std::string& mark : ExplainMarks(board)) sentences.push_back(std::move(mark));
  sentences.push_back(
      absl::StrFormat("Beside a score where it applies: the last checkpoint's, if another one was "
                      "selected; training without labels before (pretrained); an early stop; "
                      "parameters of a model that is more than %g %% larger than the transformer.",
                      100 * kParameterAllowance));
  if (HasAverage(board)) {
    sentences.emplace_back(
        "The average is over all tasks of the table, for rows that have them all; its interval is "
        "for these tasks.");
  }
  sentences.emplace_back(
      "Rows are ordered by their means; published rows come from other code, data and settings, "
      "carry no interval and are no part of the order.");
  if (options.shows_cost && !board.tables.empty())
    sentences.push_back(internal::CostLegend(board.tables.front()));
  if (HasDifferences(board)) {
    sentences.push_back(
        "Ours - published: of the same method and task, under the protocol and preset nearest to "
        "those of the published row, with our interval moved by the printed number, which is taken "
        "as exact. Code and data may still differ, and settings where the published table's note "
        "says so.");
  }
  return sentences;
}

}  // namespace lra
