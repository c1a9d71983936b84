#include "datasets/archive_input.h"

#include <archive.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kInputBlockBytes = 1 << 16;
constexpr absl::string_view kZipMagic = "PK";

}  // namespace

void AllowCompression(archive* handle) {
  archive_read_support_filter_bzip2(handle);
  archive_read_support_filter_xz(handle);
  archive_read_support_filter_zstd(handle);
}

absl::StatusOr<std::unique_ptr<ArchiveInput>> ArchiveInput::Open(const std::string& path) {
  const int descriptor = path.empty() ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open \"", path, "\""));
  std::unique_ptr<ArchiveInput> input(new ArchiveInput(path, descriptor));
  LRA_ASSIGN_OR_RETURN(input->peeked_, input->ReadPacked());
  if (input->is_stream_ && absl::StartsWith(input->peeked_, kZipMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.empty() ? "standard input" : path,
                     ": is a zip, which is read from its end; save it, and name the file"));
  }
  if (Gunzip::Knows(input->peeked_)) {
    ArchiveInput* packed = input.get();
    input->gunzip_.emplace([packed]() -> absl::StatusOr<absl::string_view> {
      if (!packed->peeked_.empty()) return std::exchange(packed->peeked_, {});
      return packed->ReadPacked();
    });
  }
  return input;
}

ArchiveInput::ArchiveInput(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), block_(kInputBlockBytes, '\0') {
  struct stat about {};
  is_stream_ = path_.empty() || fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode);
}

ArchiveInput::~ArchiveInput() {
  if (!path_.empty()) close(descriptor_);
}

// At least two bytes where there are as many, so that the first ones tell what it is.
absl::StatusOr<absl::string_view> ArchiveInput::ReadPacked() {
  size_t bytes = 0;
  while (bytes < 2) {
    const ssize_t count = read(descriptor_, block_.data() + bytes, kInputBlockBytes - bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read \"", path_, "\""));
    if (count == 0) break;
    bytes += static_cast<size_t>(count);
  }
  read_bytes_ += static_cast<int64_t>(bytes);
  return absl::string_view(block_).substr(0, bytes);
}

absl::StatusOr<absl::string_view> ArchiveInput::Read() {
  if (gunzip_) return gunzip_->Next();
  if (!peeked_.empty()) return std::exchange(peeked_, {});
  return ReadPacked();
}

ssize_t ArchiveInput::OnRead(archive* handle, void* input, const void** block) {
  const absl::StatusOr<absl::string_view> bytes = static_cast<ArchiveInput*>(input)->Read();
  if (!bytes.ok()) {
    archive_set_error(handle, EIO, "%s", std::string(bytes.status().message()).c_str());
    return ARCHIVE_FATAL;
  }
  *block = bytes->data();
  return static_cast<ssize_t>(bytes->size());
}

int ArchiveInput::Start(archive* handle) {
  archive_read_support_format_tar(handle);
  if (!gunzip_) AllowCompression(handle);
  if (gunzip_ || is_stream_) return archive_read_open(handle, this, nullptr, OnRead, nullptr);
  archive_read_support_format_zip(handle);
  return archive_read_open_filename(handle, path_.c_str(), kInputBlockBytes);
}

absl::Status ArchiveInput::Finish() {
  while (gunzip_) {
    LRA_ASSIGN_OR_RETURN(const absl::string_view bytes, gunzip_->Next());
    if (bytes.empty()) break;
  }
  return absl::OkStatus();
}

int64_t ArchiveInput::PackedBytesRead(archive* handle) const {
  return gunzip_ ? read_bytes_ : archive_filter_bytes(handle, -1);
}

}  // namespace lra
