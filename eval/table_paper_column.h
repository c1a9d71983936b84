// A column of numbers of a table for a paper (eval/table_paper.h).
#ifndef LRA_EVAL_TABLE_PAPER_COLUMN_H_
#define LRA_EVAL_TABLE_PAPER_COLUMN_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "eval/leaderboard.h"

namespace lra::internal {

// What stands behind a number and is explained below the table.
enum class PaperMark {
  kOneRun,
  kLessExamples,
  kNotAbove,
  kLarger,
  kPretrained,
  kFromAnotherRun,
  kFromOwnEncoder,
  kLetters,
  kManyLetters,
  kFailures,
  kNoBold
};

struct PaperMarkText {
  PaperMark mark;
  const char* symbol;
  const char* explanation;
};
// In the order of the explanations.
absl::Span<const PaperMarkText> PaperMarks();

// A number that ends at the column's decimal point, and what stands behind it, both in LaTeX.
struct PaperCell {
  std::string number = "--";
  std::string behind{};
};

// A task's column or, behind the last of them, the average.
class PaperColumn {
 public:
  // The table must outlive the column.
  PaperColumn(const LeaderboardTable& table, size_t column);

  std::string Head() const;
  // Adds the marks that the cell has.
  PaperCell Cell(const LeaderboardRow& row, std::set<PaperMark>* used) const;
  PaperCell Printed(const PublishedRows::Row& row) const;

 private:
  const Metric& metric() const { return *table_.metric; }
  bool is_average() const { return column_ == table_.tasks.size(); }
  const LeaderboardCell* CellOf(const LeaderboardRow& row) const;
  std::optional<Interval> IntervalOf(const LeaderboardRow& row) const;
  // That of what RankOf() says, which is the mean over all runs where some failed.
  std::optional<Interval> RankIntervalOf(const LeaderboardRow& row) const;
  // Those of its letters; none in the column of averages.
  absl::Span<const int> GroupsOf(const LeaderboardRow& row) const;
  std::optional<double> RankOf(const LeaderboardRow& row) const;
  bool HasPrinted() const;
  // Those that give the half widths of the rows that are compared two digits; baselines follow.
  void FindDecimals(bool of_baselines);
  // None where fewer than two rows are ranked, or where nothing says how sure one of them is.
  void FindBest();
  // The best, and what cannot be told from it: what shares a letter with it or, where one of the
  // two has none, what IntervalsMeet() says.
  bool IsBest(const LeaderboardRow& row) const;
  // Whether the interval of the difference from the best holds 0, by the arms of both rows that
  // face each other (Zou and Donner, Statistics in Medicine 27:1693, 2008). That takes rows for
  // independent; the examples that they share would, as a rule, make it narrower.
  bool IntervalsMeet(const LeaderboardRow& row) const;
  std::string NumberText(double value, bool is_best) const;
  std::string PrintedNumber(double value) const;
  std::string Arms(double value, const std::optional<Interval>& interval) const;
  PaperCell AverageCell(const LeaderboardRow& row, std::set<PaperMark>* used) const;
  // Runs that trained where not all did, letters, marks.
  static std::string Behind(const LeaderboardRow& row, const LeaderboardCell& cell,
                            std::set<PaperMark>* used);
  static bool HasMark(PaperMark mark, const LeaderboardCell& cell);

  const LeaderboardTable& table_;
  const size_t column_;
  std::optional<int> more_;  // decimals in excess of the metric's
  int decimals_ = 0;         // that take up space, with those of printed rows
  const LeaderboardRow* best_ = nullptr;
  bool is_withheld_ = false;  // there is a best mean, and it is not shown as such
};

}  // namespace lra::internal

#endif  // LRA_EVAL_TABLE_PAPER_COLUMN_H_
