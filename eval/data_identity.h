// Which data a run used: what a record keeps of a data set's manifest.
#ifndef LRA_EVAL_DATA_IDENTITY_H_
#define LRA_EVAL_DATA_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "eval/run_record.pb.h"
#include "lra/config.pb.h"

namespace lra {

// Describes the examples as seen through a view; splits are the view's (datasets/split_rule.h).
// Canonical fingerprints come from configs/tasks/; without such a file, the data is not canonical.
// The data must allow `view`, as SplitView::Create checks.
DataIdentity IdentifyData(const Manifest& manifest, const DataView& view);

// "canonical", "not canonical" or, where configs/tasks/ pins no data of the task, that nothing is.
std::string CanonicalText(const DataIdentity& data);

// InvalidArgument unless the data, seen through `view`, is what a run on record used; it names the
// task, the split or the view that differs.
absl::Status CheckDataOfRun(const RunRecord& run, const Manifest& manifest, const DataView& view);

// How a run on record saw its data. InvalidArgument where its record does not say, and where `task`
// is not empty and not the run's.
absl::StatusOr<DataView> ViewOfRun(const RunRecord& run, absl::string_view task);

}  // namespace lra

#endif  // LRA_EVAL_DATA_IDENTITY_H_
