#include "eval/baseline_record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

RowIdentity IdentityOf(const BaselineRun& run) {
  return {RunRecord::BASELINE, run.name,        run.description, run.data, run.spec,
          run.command_line,    run.unix_seconds};
}

}  // namespace

std::string BaselineDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name) {
  return JoinPath(runs, absl::StrCat(task, "-baseline-", name));
}

absl::StatusOr<RunRecord> WriteBaselineRecord(absl::string_view directory, const BaselineRun& run) {
  const RowIdentity row = IdentityOf(run);
  LRA_RETURN_IF_ERROR(ReplaceableRecord(directory, row).status());
  ExperimentConfig config;
  config.set_task(run.data.task());
  RunRecord record = MakeRowRecord(row, std::move(config));
  for (const RowSplit& split : run.splits) {
    auto result = StoreRowSplit(directory, split, run.spec);
    if (!result.ok())
      return Annotate(result.status(), absl::StrCat("baseline ", run.name, ", ", split.split));
    *record.add_results() = *std::move(result);
    if (split.split == "test") AddTestLook(row, &record);
  }
  LRA_RETURN_IF_ERROR(WriteRunRecord(directory, record));
  return record;
}

}  // namespace lra
