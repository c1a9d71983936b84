#include "eval/baseline_record.h"

#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kTestSplit[] = "test";

absl::Status CheckFolderIsOurs(absl::string_view directory, const DataIdentity& data) {
  if (!FileExists(JoinPath(directory, kRecordFile))) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const RunRecord record, ReadRunRecord(directory));
  if (record.kind() == RunRecord::BASELINE) {
    if (Fingerprint(record.data()) == Fingerprint(data)) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(
        directory, ": holds the baseline ", record.method(),
        " of other data or of another view; choose another --out, or remove that folder"));
  }
  return absl::AlreadyExistsError(absl::StrCat(directory, ": holds a run of ", record.method(),
                                               ", which is not a baseline; choose another --out"));
}

RunRecord DescribeRun(const BaselineRun& run) {
  RunRecord record;
  record.set_kind(RunRecord::BASELINE);
  record.set_method(run.name);
  record.set_description(run.description);
  record.mutable_config()->set_task(run.data.task());
  record.set_config_fingerprint(Fingerprint(record.config()));
  record.set_cell_fingerprint(CellFingerprint(record.config()));
  *record.mutable_data() = run.data;
  *record.mutable_spec() = run.spec;
  record.set_selected_step(-1);
  *record.mutable_machine() = DescribeMachine();
  *record.mutable_versions() = RunVersions("");
  record.set_finished_unix_seconds(run.unix_seconds);
  return record;
}

}  // namespace

std::string BaselineDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name) {
  return JoinPath(runs, absl::StrCat(task, "-baseline-", name));
}

absl::StatusOr<RunRecord> WriteBaselineRecord(absl::string_view directory, const BaselineRun& run) {
  LRA_RETURN_IF_ERROR(CheckFolderIsOurs(directory, run.data));
  RunRecord record = DescribeRun(run);
  for (const BaselineSplit& split : run.splits) {
    const bool is_test = split.split == kTestSplit;
    const SplitPredictions predictions{
        .split = split.split,
        .file = is_test ? "predictions.npy" : absl::StrCat("predictions-", split.split, ".npy"),
        .logits = split.logits,
        .labels = split.labels,
        .classes = run.spec.classes()};
    auto result = StorePredictions(directory, predictions);
    if (!result.ok())
      return Annotate(result.status(), absl::StrCat("baseline ", run.name, ", ", split.split));
    *record.add_results() = *std::move(result);
    if (!is_test) continue;
    TestLook* look = record.add_test_looks();
    look->set_command(run.command_line);
    look->set_step(-1);
    look->set_unix_seconds(run.unix_seconds);
  }
  LRA_RETURN_IF_ERROR(WriteRunRecord(directory, record));
  return record;
}

}  // namespace lra
