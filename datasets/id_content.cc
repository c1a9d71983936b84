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

int32_t EndMarkId(const TaskSpec& spec, const DataView& view) {
  constexpr int32_t kBehindUnknownId = 2;  // padding and unknown code points stand in front
  if (!view.end_mark()) return -1;
  if (view.unit() == DataView::CODE_POINT) return kBehindUnknownId;
  const int32_t behind = (view.unknown_id() ? 1 : 0) + (spec.hides_tokens() ? 1 : 0);
  return spec.vocabulary_size() - 1 - behind;
}

std::string IdContent(const TaskSpec& spec, const DataView& view) {
  if (IsImage(spec))
    return absl::StrCat(Pixels(spec, view),
                        spec.is_real() ? "" : absl::StrCat(", ", spec.vocabulary_size(), " ids"));
  return absl::StrCat(Units(spec), view.end_mark() ? ", an end mark" : "",
                      view.unknown_id() ? ", an unknown id" : "", ", ", spec.vocabulary_size(),
                      " ids");
}

}  // namespace lra
