#include "eval/data_identity.h"

#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/check.h"
#include "lra/fingerprint.h"

namespace lra {

DataIdentity IdentifyData(const Manifest& manifest, const DataView& view) {
  DataIdentity data;
  data.set_task(manifest.spec().name());
  data.set_task_version(manifest.spec().version());
  const absl::StatusOr<DataView::Split> rule = ResolveSplitRule(manifest, view);
  LRA_CHECK(rule.ok()) << rule.status().ToString();
  for (const char* split : {"train", "validation", "test"}) {
    if (FindSplit(manifest, StoredSplit(manifest, *rule, split)) == nullptr) continue;
    (*data.mutable_split_fingerprint())[split] = SplitFingerprint(manifest, *rule, split);
  }
  data.set_origin(manifest.origin());
  data.set_is_canonical(IsCanonical(manifest));
  data.set_view_fingerprint(Fingerprint(view));
  return data;
}

}  // namespace lra
