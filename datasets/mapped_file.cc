#include "datasets/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

absl::Status MapError(absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot read \"", path, "\""));
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(absl::string_view path) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const int descriptor = open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return MapError(path);
  struct stat info;
  MappedFile file;
  absl::Status status;
  if (fstat(descriptor, &info) != 0) {
    status = MapError(path);
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::DataLossError(absl::StrCat("\"", path, "\" is not a plain file"));
  } else if (info.st_size > 0) {
    // An empty map is an error to mmap(), but an empty file is none to us.
    void* data = mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) {
      status = MapError(path);
    } else {
      file.data_ = static_cast<const char*>(data);
      file.size_bytes_ = info.st_size;
    }
  }
  close(descriptor);
  if (!status.ok()) return status;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_bytes_);
}

}  // namespace lra
