// For plug-ins: their own options out of AttentionContext::options.
#ifndef LRA_MODELS_ATTENTION_OPTIONS_H_
#define LRA_MODELS_ATTENTION_OPTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/any.pb.h"

namespace lra {

// An unset Any gives the defaults; another message or damaged bytes are InvalidArgument.
template <class Options>
absl::StatusOr<Options> UnpackOptions(const google::protobuf::Any& any) {
  Options options;
  if (any.type_url().empty()) return options;
  if (!any.Is<Options>()) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options: holds ", any.type_url(),
                                                   ", this attention takes ",
                                                   Options::descriptor()->full_name()));
  }
  if (!any.UnpackTo(&options)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options: not a valid ", Options::descriptor()->full_name()));
  }
  return options;
}

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_OPTIONS_H_
