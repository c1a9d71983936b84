// The bytes of sealed files (lra/textproto.h), and the way back from a message's JSON: for those
// who hold a file against what it should be.
#ifndef LRA_SEALED_TEXT_H_
#define LRA_SEALED_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace lra {

// What WriteSealedTextProto() writes.
std::string SealedText(const google::protobuf::Message& message);
// The text above the seal; DataLoss, which names `path`, if the seal is missing or wrong.
absl::StatusOr<absl::string_view> Unseal(absl::string_view text, absl::string_view path);

// Reads what ToJson() wrote. DataLoss names `where`.
absl::Status ParseJson(absl::string_view json, absl::string_view where,
                       google::protobuf::Message* message);

}  // namespace lra

#endif  // LRA_SEALED_TEXT_H_
