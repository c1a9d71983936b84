// Which data a run used: what a record keeps of a data set's manifest.
#ifndef LRA_EVAL_DATA_IDENTITY_H_
#define LRA_EVAL_DATA_IDENTITY_H_

#include "datasets/manifest.pb.h"
#include "eval/run_record.pb.h"
#include "lra/config.pb.h"

namespace lra {

// Describes the examples as seen through a view; splits are the view's (datasets/split_rule.h).
// Canonical fingerprints come from configs/tasks/; without such a file, the data is not canonical.
// The data must allow `view`, as SplitView::Create checks.
DataIdentity IdentifyData(const Manifest& manifest, const DataView& view);

}  // namespace lra

#endif  // LRA_EVAL_DATA_IDENTITY_H_
