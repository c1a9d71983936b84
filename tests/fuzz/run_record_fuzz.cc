#include <string>

#include "absl/strings/match.h"
#include "eval/leaderboard.h"
#include "eval/run_record.h"
#include "eval/table_writer.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// A record below its seal, as `lra table` and `lra diff` read it.
LRA_FUZZ_TARGET(run_record) {
  static const lra::FuzzFolder folder("run_record");
  folder.WriteSealed(lra::kRecordFile, input);
  const auto record = lra::ReadRunRecord(folder.path());
  if (!record.ok()) {
    LRA_CHECK(absl::StrContains(record.status().message(), lra::kRecordFile)) << record.status();
    return;
  }
  LRA_CHECK(lra::EqualExceptVolatile(*record, *record));
  lra::DiffRecords(lra::RunRecord(), *record);
  lra::FoundRuns found;
  found.runs.push_back({folder.path(), *record});
  found.runs.push_back({folder.path() + "/other", *record});
  found.runs.back().record.set_seed(record->seed() + 1);
  for (const char* split : {"test", "validation"}) {
    lra::LeaderboardOptions options;
    options.split = split;
    const auto board = lra::BuildLeaderboard(found, {}, options);
    if (!board.ok()) continue;
    for (const auto format : {lra::TableFormat::kMarkdown, lra::TableFormat::kJson})
      LRA_CHECK(!lra::WriteLeaderboard(*board, format).empty());
  }
}
