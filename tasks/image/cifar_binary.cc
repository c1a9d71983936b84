#include "tasks/image/cifar_binary.h"

#include "absl/strings/str_cat.h"

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

}  // namespace lra::image
