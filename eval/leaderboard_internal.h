// Steps of BuildLeaderboard; private to eval/leaderboard*.cc.
#ifndef LRA_EVAL_LEADERBOARD_INTERNAL_H_
#define LRA_EVAL_LEADERBOARD_INTERNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "eval/leaderboard.h"

namespace lra::internal {

// A run that takes part: scored, failed, or missing.
struct Entry {
  const LocatedRecord* located = nullptr;
  const SplitResult* result = nullptr;  // of the options' split; nullptr of a run without a score
  const Metric* metric = nullptr;       // by which it is shown
  std::shared_ptr<const ExampleValues> examples{};  // null where they are not on record
  // The task's own metric, which tells whether the run trained, and the scores by it, like
  // `examples`; null where it is the one shown, does not tell, or has no value.
  const Metric* own_metric = nullptr;
  std::shared_ptr<const ExampleValues> own_examples{};
  bool is_missing = false;  // stopped or still going
  // What is wrong with its predictions file; empty if nothing is, or if the file is not there.
  std::string damage{};
  const RunRecord& record() const { return located->record; }
  bool has_failed() const { return record().has_failure(); }
  double Value() const { return metric->Value(result->sums()); }
};

// One task with one setting and one metric: all its runs may stand in one column. Never empty.
struct ColumnRuns {
  std::string task;
  std::vector<Entry> entries;  // measured first, then baselines and external rows that joined
  int64_t block_examples = 1;  // BlockExamplesOf() the task; RowRuns have it
  const Metric& metric() const { return *entries.front().metric; }
  // The first that has a score; nullptr if none has.
  const Entry* first_scored() const;
};

// What makes two runs of one task comparable: config without attention, seed and the learning rate
// that a search found, the data, and what a later look has otherwise (eval/later_look.h). A record
// that holds nothing else.
RunRecord SettingOf(const RunRecord& record);
// What sets two runs of one task apart, beside what the rules themselves say about their methods.
std::vector<FieldDifference> SettingDifferences(const RunRecord& a, const RunRecord& b);

// "train.steps=150, model.pooling=CLS": the settings that come neither from protocol nor preset nor
// attention.
std::string OverridesOf(const RunRecord& record);
// Those of them that tell tables apart: without rules that were set to what the protocol says.
std::string TellingOverridesOf(const RunRecord& record);
// The longest OverridesOf() of a column's runs, which differ in rules alone that some of them name.
std::string OverridesOfColumn(const ColumnRuns& column);
// Whether --set or a run file gave the field of the configuration.
bool IsSetByHand(const RunRecord& record, const std::string& path);
// The settings that protocol and preset give this method alone, attention.* aside, as OverridesOf()
// writes them. Runs of one column may differ in them: the rules are the same.
std::string MethodRulesOf(const RunRecord& record);

// leaderboard_columns.cc: the metric of each column, in its unit.
std::vector<const Metric*> MetricsOf(const std::vector<ColumnRuns>& columns);
// Tables of columns of one metric, in the order of the benchmark's tasks,
// with the blocks of examples that the tasks' files tell. Baselines and external rows join every
// column with the same examples; those that find none get tables of their own.
std::vector<std::vector<ColumnRuns>> MakeTables(const std::vector<Entry>& entries);
// Names the fields in which a table's columns differ from the first table's or, of a task that this
// one lacks, from those of the nearest table before it. `earlier`: all tables before it, at least
// one.
std::string DescribeDifference(absl::Span<const std::vector<ColumnRuns>> earlier,
                               const std::vector<ColumnRuns>& other);

// leaderboard.cc: the runs that can be shown, with the scores of their examples; why the others
// cannot goes to `left_out`. They point into `found`. DataLoss for scores that were changed.
absl::StatusOr<std::vector<Entry>> SelectEntries(const FoundRuns& found,
                                                 const LeaderboardOptions& options,
                                                 std::vector<std::string>* left_out);

// leaderboard_cells.cc: kind (baselines, measured, external), method, variant; and the runs of each
// row of a column.
using RowKey = std::tuple<int, std::string, std::string>;
std::map<RowKey, std::vector<Entry>> RowsOfColumn(const ColumnRuns& column);
// "cosformer"; "cosformer (dropout=0.1)" of one variant among several, and wherever that was set by
// hand.
std::string LabelOf(const RowKey& key);
// One run a seed, by seed. A second run of a seed is a copy or contradicts the first; one of other
// code may have SamePredictions() (eval/external_record.h) as another seed. Both are dropped and
// reported.
std::vector<Entry> OnePerSeed(std::vector<Entry> runs, std::vector<std::string>* left_out);
// The column without the runs that no cell counts because they repeat another one's seed.
ColumnRuns WithoutRepeats(const ColumnRuns& column);

// The runs behind a cell: those that trained, as the statistics see them.
struct CellRuns {
  std::vector<Entry> entries;  // one a seed, of those that are not missing
  RowRuns trained;
};

// A row while its table is made; runs[c] belongs to row.cells[c].
struct OpenRow {
  LeaderboardRow row;
  std::vector<CellRuns> runs;
};

// leaderboard_cells.cc: rows of a table from its columns, each cell by itself, best first; repeats
// that cannot be counted go to `left_out`.
std::vector<OpenRow> MakeRows(const std::vector<ColumnRuns>& columns,
                              const LeaderboardOptions& options,
                              std::vector<std::string>* left_out);

// leaderboard_statistics.cc. Which runs of the cell trained, its value and interval. Returns the
// runs behind the value, among `runs->entries`: those that trained or, where none did, all scored.
std::vector<const Entry*> FillStatistics(const ColumnRuns& column,
                                         const LeaderboardOptions& options, CellRuns* runs,
                                         LeaderboardCell* cell);
// The mean over all runs where some run of a column failed.
void FillAllRuns(const std::vector<ColumnRuns>& columns, const LeaderboardOptions& options,
                 std::vector<OpenRow>* rows);
// Verdicts against the baselines, corrected over the table.
void FillLearned(const std::vector<ColumnRuns>& columns, std::vector<OpenRow>* rows);
// Averages of rows that fill all of several columns of one unit and are ranked in each.
void FillAverages(const std::vector<ColumnRuns>& columns, const LeaderboardOptions& options,
                  std::vector<OpenRow>* rows);
// Comparisons of all pairs of each column, and the letters that follow from them.
std::vector<TableComparison> CompareColumns(const std::vector<ColumnRuns>& columns,
                                            const LeaderboardOptions& options,
                                            std::vector<OpenRow>* rows);
// Whether a scored run is above the majority class on the same examples, by the task's own metric
// where all have it; nullopt where there is no majority class on record, or where that cannot be
// told.
std::optional<bool> IsAboveMajority(const Entry& run, const ColumnRuns& column);
// Whether a run trained: it did not fail, and IsAboveMajority(). Baselines did; so did every scored
// run of which that cannot be told, or by a metric that does not tell.
bool HasTrained(const Entry& run, const ColumnRuns& column);
// These runs, all scored, as the statistics see them: on the examples that each of them has.
RowRuns RowOf(const std::vector<const Entry*>& runs, const ColumnRuns& column);
// The column's baselines as rows of one run: the majority class only, or all that a score must be
// above to count as learned (BaselineBar::is_required; the majority class is one of them).
enum class WhichBaselines { kMajority, kRequired };
std::vector<RowRuns> BaselinesOf(const ColumnRuns& column, WhichBaselines which);

// leaderboard_notes.cc: why it is not known which runs of a column trained: "no majority class is
// on record (`lra baseline listops`), so every scored run counts as trained"; empty where it is
// known, and for columns without runs of our own.
std::string WhyUnjudged(const ColumnRuns& column);
// Says that the numbers of a column WithoutRepeats() do not come from one build of committed
// sources, and which rows come from which; empty if they do.
std::string DescribeBuilds(const ColumnRuns& column);
// How the rows were obtained.
std::vector<std::string> MakeNotes(const std::vector<ColumnRuns>& columns,
                                   const LeaderboardOptions& options);

// leaderboard_details.cc: further notes, empty where no record says what they are about. "text:
// training examples (fingerprint 0d0fb90c10f4), 2,500 validation examples (...).": the splits of a
// column that are not shown.
std::string DescribeOtherSplits(const ColumnRuns& column, const std::string& split);
// "the step with the best validation accuracy was scored (ties: the earlier)".
std::string DescribeSelection(const RunRecord& record);
// Says so where the test split chose what was scored in some row.
std::string DescribeSelectionOnTest(const ColumnRuns& column);
// "overridden: train.steps=150", "nothing overridden", or that no record says it.
std::string DescribeOverrides(const ColumnRuns& column);
// "text: scored after training: trained on other data (...).": of looks by `lra eval`.
std::string DescribeLaterLooks(const ColumnRuns& column);
// "listops, text: 2 layers of width 64.", a note for each size.
std::vector<std::string> DescribeSizes(const std::vector<ColumnRuns>& columns);
// "text: seeds of external rows mine 0, 1; view unit=BYTE.": the view is the same for all of them.
std::string DescribeExternalRuns(const ColumnRuns& column);
// "Trained on AMD EPYC, kernels avx512."; of several machines, which runs each of them trained.
std::string DescribeMachines(const std::vector<ColumnRuns>& columns);

// leaderboard_published.cc: the tables as they are shown, without recalled rows and without those
// that an earlier table of the list has as well; the table's note says so.
std::vector<PublishedTable> ShownPublished(std::vector<PublishedTable> tables);
// Sets the published rows beside the columns, and our differences beside these where both were
// obtained under the same rules. Notes say which differences are left out, and which published
// table has nothing for these columns.
void AddPublished(const std::vector<PublishedTable>& published, absl::string_view split,
                  const std::vector<ColumnRuns>& columns, LeaderboardTable* table);

}  // namespace lra::internal

#endif  // LRA_EVAL_LEADERBOARD_INTERNAL_H_
