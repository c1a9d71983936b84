#include "eval/data_identity.h"

#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra {

bool IsCanonical(const DataIdentity& data, const TaskFile& task_file) {
  for (const auto& [split, fingerprint] : task_file.canonical_fingerprint()) {
    const auto it = data.split_fingerprint().find(split);
    if (it == data.split_fingerprint().end() || it->second != fingerprint) return false;
  }
  return task_file.canonical_fingerprint_size() > 0;
}

DataIdentity IdentifyData(const Manifest& manifest) {
  DataIdentity data;
  data.set_task(manifest.spec().name());
  data.set_task_version(manifest.spec().version());
  for (const ManifestSplit& split : manifest.splits()) {
    (*data.mutable_split_fingerprint())[split.name()] = split.content_fingerprint();
  }
  data.set_origin(manifest.origin());
  const auto task_file = LoadTaskFile(data.task());
  data.set_is_canonical(task_file.ok() && IsCanonical(data, *task_file));
  return data;
}

DataIdentity IdentifyData(const Manifest& manifest, const DataView& view) {
  DataIdentity data = IdentifyData(manifest);
  data.set_view_fingerprint(Fingerprint(view));
  return data;
}

}  // namespace lra
