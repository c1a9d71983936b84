#include "train/series.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "run_folder/divergence.h"
#include "train/trainer.h"

namespace lra {
namespace {

std::string Describe(const TrainRequest& request, const absl::Status& failure) {
  return absl::StrCat("seed ", request.resolved.config.seed(), " (", request.runtime.out_dir(),
                      "): ", failure.message());
}

}  // namespace

absl::Status TrainSeries(const std::vector<TrainRequest>& requests, const RunDone& done) {
  int failed = 0;
  std::string failures;
  for (const TrainRequest& request : requests) {
    const absl::StatusOr<RunRecord> record = TrainRun(request);
    if (record.ok()) {
      LRA_RETURN_IF_ERROR(done(request, *record));
      continue;
    }
    if (!HasDiverged(record.status()) || requests.size() == 1) return record.status();
    ++failed;
    absl::StrAppend(&failures, "\n  ", Describe(request, record.status()));
    if (&request != &requests.back())
      std::cerr << "lra: " << Describe(request, record.status()) << "\nlra: the next run begins\n";
  }
  if (failed == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(failed, " of ", requests.size(),
                                          " runs diverged; tables count them:", failures));
}

}  // namespace lra
