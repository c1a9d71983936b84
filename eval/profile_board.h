// Profiles of many runs side by side: of which examples the scores of a table's rows are made. Rows
// and their statistics are those of leaderboards (docs/statistics.md), on the examples of each
// stratum. Made from records and the scores of examples that lie beside them; `lra profile RUNS`.
#ifndef LRA_EVAL_PROFILE_BOARD_H_
#define LRA_EVAL_PROFILE_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/strata.h"
#include "eval/metric.h"
#include "eval/profile.h"
#include "eval/published.pb.h"
#include "eval/run_record.h"

namespace lra {

// The runs of a row that a score is the mean of, one a seed, each with the scores of its examples:
// those that trained or, where none did, all.
struct ProfiledRow {
  RunRecord::Kind kind = RunRecord::MEASURED;
  std::string label;  // as leaderboards have it
  std::vector<const LocatedRecord*> runs;
  std::vector<std::shared_ptr<const ExampleValues>> scores;  // of `runs`
  int64_t trained = 0, all = 0;                              // as leaderboards count them
  int64_t examples() const;                                  // that every run has
};

// Rows of one kind and setting. The baselines, which belong to all settings, come first.
struct ProfiledSetting {
  RunRecord::Kind kind = RunRecord::MEASURED;
  std::string rules;                // "protocol fair@1, preset small"
  std::vector<std::string> fields;  // in which settings of these rules differ
  std::vector<ProfiledRow> rows;
};

// Everything that was scored on the same examples, and that learned from the same and saw them
// alike.
struct ProfileGroup {
  std::string task, split;
  const Metric* metric = nullptr;
  const RunRecord* data = nullptr;  // a run that says which data that is, and how it is seen
  int64_t max_length_tokens = 0;    // that are seen of an example; 0 = the record does not say
  int64_t block_examples = 1;       // neighbours that count as one (RowRuns in row_statistics.h)
  // Why this is no part of its task's first group; empty of that.
  std::string differs;
  std::vector<ProfiledSetting> settings;
};

// Points into `found`. `methods`, empty = all, choose among what is no baseline. Runs without
// scores of examples, or of tokens, go to `left_out`. InvalidArgument for a method without runs,
// with those there are; FailedPrecondition if no run is left; DataLoss for changed scores.
absl::StatusOr<std::vector<ProfileGroup>> GroupForProfiles(const FoundRuns& found,
                                                           const std::string& split,
                                                           const std::vector<std::string>& methods,
                                                           std::vector<std::string>* left_out);

// Scores that runs have under circumstances of their own, as perturbed inputs: of each run, by its
// folder, the values of the same examples under each of `names`.
struct Circumstances {
  std::string name, definition;
  std::vector<std::string> names;
  std::map<std::string, std::vector<ExampleValues>> of;
};

struct ProfileCell {
  int64_t examples = 0;
  std::optional<double> value;  // the mean over the row's runs; unset without examples
  std::optional<Interval> interval;
};

struct ProfileBoardRow {
  const ProfiledRow* row = nullptr;
  ProfileCell whole;
  std::string place;                            // PlaceOnLadder() among the baselines
  std::vector<std::vector<ProfileCell>> cells;  // [table][stratum]; empty: nothing is known of it
};

// A way to sort the examples, or circumstances, as a heading of columns.
struct ProfileHeading {
  std::string name, definition;
  std::vector<std::string> names;
  std::vector<int64_t> examples;  // [names]
  bool is_ordered = true;         // strata are, circumstances are not
};

// The strata with enough examples for tables and figures for people; the others are in JSON.
inline constexpr int64_t kLeastShownExamples = 20;
std::vector<size_t> ShownStrata(const ProfileHeading& heading);

// A number in print, and where it would stand as one run's on these examples.
struct PublishedPlace {
  std::string label;
  double value = 0;  // in the metric
  std::string place;
};

struct ProfileBoard {
  const ProfileGroup* group = nullptr;
  double confidence = kProfileConfidence;
  int64_t examples = 0;
  std::vector<ProfileHeading> headings;
  std::vector<std::vector<ProfileBoardRow>> rows;  // of each of the group's settings
  std::vector<std::pair<std::string, std::vector<PublishedPlace>>> published;  // by table
};

struct ProfileSources {
  absl::Span<const Strata> strata;  // of the whole split
  absl::Span<const Circumstances> circumstances;
  // Numbers in print are of the test split of canonical data, and get places there only.
  absl::Span<const PublishedTable> published;
};

// Rows of which not every run was seen under some circumstances have no cells there.
// InvalidArgument for strata of fewer examples than a run was scored on.
absl::StatusOr<ProfileBoard> MakeProfileBoard(const ProfileGroup& group,
                                              const ProfileSources& sources, double confidence);

// "protocol fair@1, preset small (2)": a setting of the group, numbered where its fields tell it
// from others; or what baselines and external rows are called.
std::string SettingName(const ProfileBoard& board, size_t setting);

// Markdown, padded so that it can be read in a terminal: a table for each heading.
std::string ProfileBoardText(const ProfileBoard& board);
// For programs; values are not scaled.
std::string ProfileBoardsJson(const std::vector<ProfileBoard>& boards);

}  // namespace lra

#endif  // LRA_EVAL_PROFILE_BOARD_H_
