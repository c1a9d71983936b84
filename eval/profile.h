// The profile of a run: its stored predictions beside what a task knows of the examples. It says of
// which examples a score is made, and which baseline of a ladder has the same score. Pure
// functions; the task's side is in tasks/profile.h.
#ifndef LRA_EVAL_PROFILE_H_
#define LRA_EVAL_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/strata.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"

namespace lra {

// Confidence of the intervals of a profile.
inline constexpr double kProfileConfidence = 0.95;

struct ProfileRow {
  std::string name;
  int64_t examples = 0;
  double value = 0;  // of the metric; 0 without examples
  std::optional<Interval>
      interval;  // about the sampling of these examples; where the metric has one
};

// `sums` are those of `examples` examples, of which so many neighbours in the split count as one;
// `places` says where they stand in it where they are not its first (eval/row_statistics.h).
ProfileRow MakeProfileRow(const Metric& metric, std::string name, int64_t examples,
                          const ExampleSums& sums, int64_t block_examples,
                          absl::Span<const int64_t> places = {});

struct ProfileTable {
  std::string name, definition;
  std::vector<ProfileRow> rows;
};

// A baseline of a ladder on the same examples.
struct LadderStep {
  std::string name;      // "depth 1"
  double value = 0;      // its score
  double agreement = 0;  // the share of examples to which it gives the run's answer
};

struct Profile {
  const Metric* metric = nullptr;
  std::string task, method, split;
  ProfileRow whole;
  std::vector<ProfileTable> tables;
  std::vector<LadderStep> ladder;  // the worst score first
  int64_t block_examples = 1;      // as ProfileInput has it
};

// What a ladder's baseline answers: logits [examples, C] of the whole split.
struct LadderAnswers {
  std::string name;
  absl::Span<const float> logits;
};

struct ProfileInput {
  const RunRecord* record = nullptr;
  std::string split;
  absl::Span<const float> logits;     // the run's, [scored examples, C]
  absl::Span<const int32_t> labels;   // of the whole split
  absl::Span<const Strata> strata;    // of the whole split
  std::vector<LadderAnswers> ladder;  // the weakest first
  int64_t block_examples = 1;         // neighbours that count as one: BlockExamplesOf() the task
};

// Runs that scored the first examples only are profiled on these. InvalidArgument for sizes that do
// not fit together; the errors of MetricOf and ScoreGuesses.
absl::StatusOr<Profile> MakeProfile(const ProfileInput& input);

// The error of a run that guesses tokens.
std::string WhyNoProfile(absl::string_view directory);

// The logits [scored examples, C] that the run stored of a split. NotFound where it has none, with
// what to do; InvalidArgument of a run that guesses tokens; DataLoss where the file is not what the
// record says.
absl::StatusOr<std::vector<float>> StoredLogits(absl::string_view directory,
                                                const RunRecord& record, absl::string_view split);

// The place of the score among the ladder's: "as depth 1" if that score is within the run's
// interval, else "between depth 1 and depth 2", "below depth 1", "above depth 5". Empty without a
// ladder.
std::string LadderPlace(const Profile& profile);

// The same of any score. The ladder is not empty and has the worst score first.
std::string PlaceOnLadder(const Metric& metric, double score,
                          const std::optional<Interval>& interval,
                          absl::Span<const LadderStep> ladder);

// For people: a table for each of profile.tables, and one for the ladder.
std::string ProfileText(const Profile& profile);
// For programs, with an object for each row; values are not scaled, so an accuracy is a fraction.
std::string ProfileJson(const Profile& profile);

}  // namespace lra

#endif  // LRA_EVAL_PROFILE_H_
