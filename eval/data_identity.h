// Which data a run saw: what a record keeps of a data set's manifest.
#ifndef LRA_EVAL_DATA_IDENTITY_H_
#define LRA_EVAL_DATA_IDENTITY_H_

#include "datasets/manifest.pb.h"
#include "eval/run_record.pb.h"
#include "lra/config.pb.h"

namespace lra {

// Of examples seen through a view; splits are the view's (datasets/split_rule.h). Canonical
// fingerprints come from configs/tasks/; data of a task without such a file is not canonical.
// `view` is one that the data can serve, as SplitView::Create has found.
DataIdentity IdentifyData(const Manifest& manifest, const DataView& view);

}  // namespace lra

#endif  // LRA_EVAL_DATA_IDENTITY_H_
