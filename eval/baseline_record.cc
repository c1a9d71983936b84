#include "eval/baseline_record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

RowIdentity IdentityOf(const BaselineRun& run) {
  return {RunRecord::BASELINE, run.name,        run.description, run.data, run.spec,
          run.command_line,    run.unix_seconds};
}

}  // namespace

absl::string_view MereGuessOf(const TaskSpec& spec) {
  return spec.guesses_tokens() ? "unigram baseline" : "majority class";
}

std::string BaselineDirectory(absl::string_view runs, const BaselineRun& run) {
  const std::string name = absl::StrCat(run.data.task(), "-baseline-", run.name);
  const absl::StatusOr<DataView> usual =
      LoadView(run.data.task(), kDefaultProtocol, kDefaultPreset, {});
  const bool is_usual = usual.ok() && Fingerprint(*usual) == run.data.view_fingerprint();
  return JoinPath(
      runs, is_usual ? name : absl::StrCat(name, "-", ShortFingerprint(Fingerprint(run.data))));
}

absl::StatusOr<RunRecord> WriteBaselineRecord(absl::string_view directory, const BaselineRun& run) {
  const RowIdentity row = IdentityOf(run);
  LRA_RETURN_IF_ERROR(ReplaceableRecord(directory, row).status());
  ExperimentConfig config;
  config.set_task(run.data.task());
  config.set_protocol(run.protocol);
  config.set_preset(run.preset);
  *config.mutable_view() = run.view;
  RunRecord record = MakeRowRecord(row, std::move(config));
  *record.mutable_bar() = run.bar;
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
