#include "tasks/mnist/idx.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lra::mnist {
namespace {

constexpr uint32_t kUnsignedBytes = 0x08 << 8;  // over the number of dimensions
constexpr size_t kWordBytes = 4;

// Big-endian, as the format has it.
uint32_t WordAt(absl::string_view file, size_t index) {
  uint32_t word = 0;
  for (size_t i = 0; i < kWordBytes; ++i)
    word = word << 8 | static_cast<uint8_t>(file[index * kWordBytes + i]);
  return word;
}

void AddWord(uint32_t word, std::string* file) {
  for (int shift = 24; shift >= 0; shift -= 8) file->push_back(static_cast<char>(word >> shift));
}

}  // namespace

absl::StatusOr<absl::string_view> ParseIdx(absl::string_view file,
                                           const std::vector<uint32_t>& sizes) {
  const size_t header_bytes = kWordBytes * (1 + sizes.size());
  if (file.size() < header_bytes) {
    return absl::DataLossError(
        absl::StrCat("has ", file.size(), " bytes, its header alone ", header_bytes));
  }
  const auto magic = kUnsignedBytes | static_cast<uint32_t>(sizes.size());
  if (WordAt(file, 0) != magic) {
    return absl::DataLossError(absl::StrCat(
        "begins with 0x", absl::Hex(WordAt(file, 0), absl::kZeroPad8), ", an array of ",
        sizes.size(), " dimensions with 0x", absl::Hex(magic, absl::kZeroPad8)));
  }
  size_t bytes = 1;
  std::vector<uint32_t> found;
  for (size_t i = 0; i < sizes.size(); ++i) {
    found.push_back(WordAt(file, i + 1));
    bytes *= sizes[i];
  }
  if (found != sizes) {
    return absl::DataLossError(absl::StrCat("is an array of ", absl::StrJoin(found, " x "),
                                            " bytes, must be of ", absl::StrJoin(sizes, " x ")));
  }
  if (file.size() - header_bytes != bytes) {
    return absl::DataLossError(absl::StrCat("has ", file.size() - header_bytes,
                                            " bytes behind its header, must have ", bytes));
  }
  return file.substr(header_bytes);
}

std::string MakeIdx(const std::vector<uint32_t>& sizes, absl::string_view bytes) {
  std::string file;
  AddWord(kUnsignedBytes | static_cast<uint32_t>(sizes.size()), &file);
  for (const uint32_t size : sizes) AddWord(size, &file);
  return absl::StrCat(file, bytes);
}

}  // namespace lra::mnist
