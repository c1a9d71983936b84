#include "tasks/image/cifar_binary.h"

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra::image {

absl::StatusOr<CifarImage> ParseCifarRecord(absl::string_view bytes, int64_t record) {
  if (bytes.size() != kCifarRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat("record ", record, " has ", bytes.size(),
                                                   " bytes; a record has ", kCifarRecordBytes));
  }
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (data[0] >= kCifarClasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("record ", record, " (byte ", record * kCifarRecordBytes, "): the label is ",
                     data[0], "; 0 to ", kCifarClasses - 1, " are expected"));
  }
  return CifarImage{data[0], data + 1};
}

absl::StatusOr<std::vector<CifarImage>> ParseCifarFile(absl::string_view bytes, int64_t records) {
  const auto whole = static_cast<int64_t>(bytes.size() / kCifarRecordBytes);
  const size_t rest_bytes = bytes.size() % kCifarRecordBytes;
  if (whole != records || rest_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the file has ", bytes.size(), " bytes, ", whole, " x ", kCifarRecordBytes, " + ",
        rest_bytes, "; exactly ", records, " x ", kCifarRecordBytes, " are expected"));
  }
  std::vector<CifarImage> images;
  images.reserve(whole);
  for (int64_t i = 0; i < whole; ++i) {
    LRA_ASSIGN_OR_RETURN(
        const CifarImage image,
        ParseCifarRecord(bytes.substr(i * kCifarRecordBytes, kCifarRecordBytes), i));
    images.push_back(image);
  }
  return images;
}

}  // namespace lra::image
