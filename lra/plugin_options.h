// The options of a plug-in, for its factory: complete, in range, of the right type.
//
// A plug-in of a kind ("task", "attention") takes one message of options. Its values come from
// configs/<kind>s/<name>.textproto, with what a user sets over them, and from nowhere else: a
// factory has no defaults, so what ran is what the record says.
#ifndef LRA_PLUGIN_OPTIONS_H_
#define LRA_PLUGIN_OPTIONS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/message.h"
#include "lra/status_macros.h"

namespace lra {

// InvalidArgument unless every option is set and in its (lra.range); the error names the options
// that are not, and the config file that sets them.
absl::Status CheckOptions(absl::string_view kind, absl::string_view name,
                          const google::protobuf::Message& options);

// What `packed` holds, in *options. InvalidArgument for damaged bytes and for another message.
// An empty Any is the message with nothing set.
absl::Status UnpackInto(absl::string_view kind, absl::string_view name,
                        const google::protobuf::Any& packed, google::protobuf::Message* options);

// UnpackInto(), then CheckOptions().
template <class Options>
absl::StatusOr<Options> UnpackOptions(absl::string_view kind, absl::string_view name,
                                      const google::protobuf::Any& packed) {
  Options options;
  LRA_RETURN_IF_ERROR(UnpackInto(kind, name, packed, &options));
  LRA_RETURN_IF_ERROR(CheckOptions(kind, name, options));
  return options;
}

}  // namespace lra

#endif  // LRA_PLUGIN_OPTIONS_H_
