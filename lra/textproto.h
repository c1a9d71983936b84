// Reads and writes protobuf messages as text and JSON.
#ifndef LRA_TEXTPROTO_H_
#define LRA_TEXTPROTO_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace lra {

// The largest text that is parsed: 256 MiB, a hundred times the longest record so far.
inline constexpr int64_t kMaxTextProtoBytes = int64_t{256} << 20;

// Errors name `where` (a path), line, column and what was wrong; an unknown field gets the nearest
// valid name. InvalidArgument for a larger text than kMaxTextProtoBytes and for messages nested
// deeper than kMaxNesting (lra/reflection.h).
absl::Status ParseTextProto(absl::string_view text, absl::string_view where,
                            google::protobuf::Message* message);
// A byte order mark in front is passed over.
absl::Status ReadTextProto(absl::string_view path, google::protobuf::Message* message);

// The output is stable: fields in order of number, map entries sorted by key, Any expanded.
std::string ToTextProto(const google::protobuf::Message& message);
// Indented JSON with field names as in the proto and 64-bit integers as strings (protobuf's JSON
// mapping).
std::string ToJson(const google::protobuf::Message& message);

// Writes or reads a sealed file: its last line is "# sha256: <hex of the bytes above it>". Writing
// is atomic; reading refuses a file whose seal is missing or wrong (DataLoss, naming the path).
absl::Status WriteSealedTextProto(absl::string_view path, const google::protobuf::Message& message);
absl::Status ReadSealedTextProto(absl::string_view path, google::protobuf::Message* message);

}  // namespace lra

#endif  // LRA_TEXTPROTO_H_
