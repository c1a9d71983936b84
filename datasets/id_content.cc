#include "datasets/id_content.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"

namespace lra {
namespace {

std::string Pixels(const TaskSpec& spec, const DataView& view) {
  if (spec.is_real()) {
    return absl::StrCat("pixels as numbers (mean ", view.real_mean(), ", deviation ",
                        view.real_stddev(), ")");
  }
  return spec.zero_is_token() ? "pixels from id 0" : "pixels from id 1";
}

std::string Units(const TaskSpec& spec) {
  if (spec.token_names_size() > 0)
    return absl::StrCat("tokens ", absl::StrJoin(spec.token_names(), " "));
  if (spec.content() == TaskSpec::TEXT) return "bytes";
  return absl::StrCat("ids of ", spec.name(), "@", spec.version());
}

}  // namespace

std::string IdContent(const TaskSpec& spec, const DataView& view) {
  if (IsImage(spec))
    return absl::StrCat(Pixels(spec, view),
                        spec.is_real() ? "" : absl::StrCat(", ", spec.vocabulary_size(), " ids"));
  return absl::StrCat(Units(spec), view.end_mark() ? ", an end mark" : "",
                      view.unknown_id() ? ", an unknown id" : "", ", ", spec.vocabulary_size(),
                      " ids");
}

}  // namespace lra
