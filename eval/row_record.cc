#include "eval/row_record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kTestSplit[] = "test";

std::string Noun(RunRecord::Kind kind) {
  return kind == RunRecord::BASELINE ? "baseline" : "external row";
}

}  // namespace

RunRecord MakeRowRecord(const RowIdentity& row, ExperimentConfig config) {
  RunRecord record;
  record.set_kind(row.kind);
  record.set_method(row.method);
  record.set_description(row.description);
  *record.mutable_config() = std::move(config);
  record.set_config_fingerprint(Fingerprint(record.config()));
  record.set_cell_fingerprint(CellFingerprint(record.config()));
  *record.mutable_data() = row.data;
  *record.mutable_spec() = row.spec;
  record.set_selected_step(-1);
  *record.mutable_machine() = DescribeMachine();
  *record.mutable_versions() = RunVersions("");
  record.set_finished_unix_seconds(row.unix_seconds);
  return record;
}

absl::StatusOr<std::optional<RunRecord>> ReplaceableRecord(absl::string_view directory,
                                                           const RowIdentity& row) {
  if (!FileExists(JoinPath(directory, kRecordFile))) return std::optional<RunRecord>();
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(directory));
  const std::string noun = Noun(row.kind);
  if (record.kind() != row.kind) {
    return absl::AlreadyExistsError(absl::StrCat(directory, ": holds a run of ", record.method(),
                                                 ", not of the kind \"", noun,
                                                 "\"; choose another --out"));
  }
  if (Fingerprint(record.data()) == Fingerprint(row.data))
    return std::optional<RunRecord>(std::move(record));
  return absl::AlreadyExistsError(absl::StrCat(
      directory, ": holds the ", noun, " ", record.method(),
      " of other data or of another view; choose another --out, or remove that folder"));
}

absl::StatusOr<SplitResult> StoreRowSplit(absl::string_view directory, const RowSplit& split,
                                          const TaskSpec& spec) {
  const std::string file = split.split == kTestSplit
                               ? "predictions.npy"
                               : absl::StrCat("predictions-", split.split, ".npy");
  if (split.token_sums) {
    return StoreScores(directory, {.split = split.split,
                                   .file = file,
                                   .sums = &*split.token_sums,
                                   .examples = static_cast<int64_t>(split.labels.size()),
                                   .spec = &spec});
  }
  return StorePredictions(directory, {.split = split.split,
                                      .file = file,
                                      .logits = split.logits,
                                      .labels = split.labels,
                                      .spec = &spec});
}

void AddTestLook(const RowIdentity& row, RunRecord* record) {
  TestLook* look = record->add_test_looks();
  look->set_command(row.command_line);
  look->set_step(-1);
  look->set_unix_seconds(row.unix_seconds);
}

}  // namespace lra
