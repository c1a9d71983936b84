#include "lra/sealed_text.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/sha256.h"
#include "lra/textproto.h"

namespace lra {
namespace {

constexpr absl::string_view kSealPrefix = "# sha256: ";

}  // namespace

std::string SealedText(const google::protobuf::Message& message) {
  std::string text = ToTextProto(message);
  const std::string seal = Sha256Hex(text);
  absl::StrAppend(&text, kSealPrefix, seal, "\n");
  return text;
}

absl::StatusOr<absl::string_view> Unseal(absl::string_view text, absl::string_view path) {
  absl::string_view above = text;
  if (above.empty() || above.back() != '\n') {
    return absl::DataLossError(
        absl::StrCat(path, ": does not end with a line \"", kSealPrefix, "...\"; it is cut off"));
  }
  above.remove_suffix(1);
  const size_t line_end = above.rfind('\n');
  const size_t start = line_end == absl::string_view::npos ? 0 : line_end + 1;
  const absl::string_view seal = above.substr(start);
  above = above.substr(0, start);
  if (!absl::StartsWith(seal, kSealPrefix)) {
    return absl::DataLossError(
        absl::StrCat(path, ": its last line is not \"", kSealPrefix, "...\""));
  }
  const std::string expected = Sha256Hex(above);
  if (seal.substr(kSealPrefix.size()) != expected) {
    return absl::DataLossError(absl::StrCat(path, ": was changed: its last line says sha256 ",
                                            seal.substr(kSealPrefix.size()),
                                            ", the bytes above it have ", expected));
  }
  return above;
}

absl::Status ParseJson(absl::string_view json, absl::string_view where,
                       google::protobuf::Message* message) {
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(json), message);
  if (status.ok()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(where, ": is not the JSON of a ", message->GetTypeName(),
                                          ": ", std::string(status.message())));
}

}  // namespace lra
