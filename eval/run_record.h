// Run folders: record.textproto (sealed), its JSON twin, and the predictions that it names.
// docs/results_format.md.
//
//   LRA_RETURN_IF_ERROR(WriteRunRecord("runs/listops-linear-small-s0", record));
//   LRA_ASSIGN_OR_RETURN(FoundRuns found, FindRunRecords({"runs"}));
#ifndef LRA_EVAL_RUN_RECORD_H_
#define LRA_EVAL_RUN_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/run_record.pb.h"
#include "eval/sums.h"

namespace lra {

inline constexpr char kRecordFile[] = "record.textproto";
inline constexpr int32_t kRecordSchemaVersion = 2;
// Values of SplitResult.checkpoint.
inline constexpr char kSelectedCheckpoint[] = "selected";
inline constexpr char kLastCheckpoint[] = "last";

// Creates the folder if needed. The JSON twin is written first, so that a folder with a
// record.textproto is complete. Sets nothing but schema_version.
absl::Status WriteRunRecord(absl::string_view directory, RunRecord record);

// A record of schema 1 comes back in the form of today. NotFound without a record, which says what
// that means in a run; DataLoss for a damaged one and, naming the field, for counts that cannot be
// (negative, more correct than targets) and times that cannot be; FailedPrecondition for another
// schema version.
absl::StatusOr<RunRecord> ReadRunRecord(absl::string_view directory);

struct LocatedRecord {
  std::string directory;
  RunRecord record;
};

struct FoundRuns {
  std::vector<LocatedRecord> runs;
  // Folders of runs that left checkpoints or a curve but no record: killed, failed, or still going.
  std::vector<std::string> unfinished;
  // What is known of such a run that was stopped or is still going: method, seed, config, data. A
  // table counts it as missing. Filled by those who can read checkpoints (run_folder/).
  std::vector<LocatedRecord> stopped{};
  // What is wrong with records that cannot be read, each with its file.
  std::vector<std::string> damaged{};
};

// What becomes of a record that cannot be read: the error of the call, or one of FoundRuns.damaged,
// for those who show the other runs and then fail all the same (DamagedRecords).
enum class Damaged { kRefuse, kSetAside };

// Every run at or below the given folders, each once, sorted by path; folders inside a run are its
// own. NotFound for a path that does not exist, and when there is no run at all; the error of the
// first damaged record where all are.
absl::StatusOr<FoundRuns> FindRunRecords(absl::Span<const std::string> paths,
                                         Damaged damaged = Damaged::kRefuse);

// OK without damaged records; otherwise DataLoss that names them as left out of `what`, e.g. "the
// table".
absl::Status DamagedRecords(const std::vector<std::string>& damaged, absl::string_view what);

// Compares size (header plus examples * C numbers of the file's type) and SHA-256 of every
// predictions file with the record. DataLoss names the file.
absl::Status CheckPredictions(absl::string_view directory, const RunRecord& record);

// Scores logits [examples, C] against labels by the task's metric and stores them as
// <directory>/<file> (.npy), which the result names, and beside them the scores of each example
// (eval/example_scores.h). `checkpoint` is "selected", "last", or empty
// for rows without checkpoints; their step is -1.
struct SplitPredictions {
  std::string split;
  std::string file = "predictions.npy";
  absl::Span<const float> logits;
  absl::Span<const int32_t> labels;
  const TaskSpec* spec = nullptr;  // with the classes C
  int64_t step = -1;
  std::string checkpoint{};
  // The file holds float16 (eval/half_logits.h), which guess the same; what is scored are `logits`.
  bool half_logits = false;
};
absl::StatusOr<SplitResult> StorePredictions(absl::string_view directory,
                                             const SplitPredictions& predictions);

// Stores the scores of examples whose tokens were guessed: `sums` of each example instead of
// logits, of which there would be a row for each token. `file` says how files are called, none is
// of this name; the rest is as above.
struct SplitScores {
  std::string split;
  std::string file = "predictions.npy";
  const ExampleSums* sums = nullptr;
  int64_t examples = 0;
  const TaskSpec* spec = nullptr;
  int64_t step = -1;
  std::string checkpoint{};
};
absl::StatusOr<SplitResult> StoreScores(absl::string_view directory, const SplitScores& scores);

// The result that stands for the run: of the selected checkpoint (or of a row without checkpoints),
// not of the last one. nullptr if the split was not scored.
const SplitResult* FindResult(const RunRecord& record, absl::string_view split);

struct FieldDifference {
  std::string path;
  // "(unset)" where one side lacks the field.
  std::string a, b;
};

// What differs, volatile fields left out: config first, then data and the rest, results last. All
// points of the curve are one difference, told by the first.
std::vector<FieldDifference> DiffRecords(const RunRecord& a, const RunRecord& b);

// Equal bit for bit but for the fields marked volatile (times, host, resumes, command lines).
bool EqualExceptVolatile(const RunRecord& a, const RunRecord& b);

}  // namespace lra

#endif  // LRA_EVAL_RUN_RECORD_H_
