#include "eval/data_identity.h"

#include "datasets/manifest.h"
#include "lra/fingerprint.h"

namespace lra {

DataIdentity IdentifyData(const Manifest& manifest) {
  DataIdentity data;
  data.set_task(manifest.spec().name());
  data.set_task_version(manifest.spec().version());
  for (const ManifestSplit& split : manifest.splits()) {
    (*data.mutable_split_fingerprint())[split.name()] = split.content_fingerprint();
  }
  data.set_origin(manifest.origin());
  data.set_is_canonical(IsCanonical(manifest));
  return data;
}

DataIdentity IdentifyData(const Manifest& manifest, const DataView& view) {
  DataIdentity data = IdentifyData(manifest);
  data.set_view_fingerprint(Fingerprint(view));
  return data;
}

}  // namespace lra
