// The bytes of a file through a read-only memory map.
#ifndef LRA_DATASETS_MAPPED_FILE_H_
#define LRA_DATASETS_MAPPED_FILE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// Movable. The file must not be shortened while it is mapped.
class MappedFile {
 public:
  MappedFile() = default;
  // NotFound names the path.
  static absl::StatusOr<MappedFile> Open(absl::string_view path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  absl::string_view bytes() const { return {data_, size_bytes_}; }

 private:
  const char* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace lra

#endif  // LRA_DATASETS_MAPPED_FILE_H_
