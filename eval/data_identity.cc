#include "eval/data_identity.h"

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/check.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

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

std::string CanonicalText(const DataIdentity& data) {
  if (data.is_canonical()) return "canonical";
  return HasPinnedData(data.task()) ? "not canonical" : "nothing pinned to compare with";
}

absl::Status CheckDataOfRun(const RunRecord& run, const Manifest& manifest, const DataView& view) {
  const auto differs = [](absl::string_view what, absl::string_view here, absl::string_view there) {
    return absl::InvalidArgumentError(absl::StrCat("is not the data of the run: ", what, " is ",
                                                   here, ", the run's is ", there,
                                                   "; give --data of the data it was trained on"));
  };
  LRA_RETURN_IF_ERROR(ResolveSplitRule(manifest, view).status());
  const DataIdentity here = IdentifyData(manifest, view);
  const DataIdentity& there = run.data();
  if (here.task() != there.task()) return differs("task", here.task(), there.task());
  if (here.view_fingerprint() != there.view_fingerprint())
    return differs("the view", here.view_fingerprint(), there.view_fingerprint());
  for (const auto& [split, fingerprint] : there.split_fingerprint()) {
    const auto found = here.split_fingerprint().find(split);
    const std::string shown = found == here.split_fingerprint().end() ? "missing" : found->second;
    if (shown != fingerprint)
      return differs(absl::StrCat("the fingerprint of split ", split), shown, fingerprint);
  }
  return absl::OkStatus();
}

absl::StatusOr<DataView> ViewOfRun(const RunRecord& run, absl::string_view task) {
  if (!task.empty() && task != run.data().task()) {
    return absl::InvalidArgumentError(absl::StrCat("the run is of task \"", run.data().task(),
                                                   "\", not \"", task, "\"; leave out the task"));
  }
  if (Fingerprint(run.config().view()) != run.data().view_fingerprint()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the record of ", run.method(),
                     " does not say how its data was seen; give the task and --set instead"));
  }
  return run.config().view();
}

}  // namespace lra
