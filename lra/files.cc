#include "lra/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/file_steps.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"

namespace lra {

using internal::FileError;
using internal::RenameAndSync;

namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{1} << 20;

template <class Call>
auto RetryInterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string WithoutTrailingSlashes(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

// Closes a descriptor that was only read from or is synced: errors of close do not matter.
class ScopedDescriptor {
 public:
  explicit ScopedDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~ScopedDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ScopedDescriptor(const ScopedDescriptor&) = delete;
  ScopedDescriptor& operator=(const ScopedDescriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

int OpenForReading(const std::string& path, int flags = 0) {
  return RetryInterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); });
}

}  // namespace

namespace internal {

absl::Status FileError(int error, absl::string_view verb, absl::string_view path) {
  const absl::Status status =
      absl::ErrnoToStatus(error, absl::StrCat("cannot ", verb, " \"", path, "\""));
  if (error != EISDIR && error != ENOTDIR) return status;
  return absl::InvalidArgumentError(status.message());
}

std::string ParentOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

absl::Status SyncFolder(const std::string& path) {
  const ScopedDescriptor folder(OpenForReading(path, O_DIRECTORY));
  if (folder.get() < 0) return FileError(errno, "open folder", path);
  // Some file systems cannot sync folders and return EINVAL.
  if (RetryInterrupted([&] { return fsync(folder.get()); }) < 0 && errno != EINVAL)
    return FileError(errno, "sync folder", path);
  return absl::OkStatus();
}

absl::Status RenameAndSync(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return FileError(errno, "rename to", to);
  return SyncFolder(ParentOf(to));
}

}  // namespace internal

namespace {

// Reading a folder fails by itself; a pipe or a device might never end.
absl::Status CheckEnds(int descriptor, const std::string& path, int64_t max_bytes) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return FileError(errno, "read", path);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read \"", path, "\": it is a pipe or a device, not a plain file"));
  }
  if (!S_ISREG(info.st_mode) || info.st_size <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cannot read \"", path, "\": it has ",
                                                 info.st_size, " bytes, at most ", max_bytes,
                                                 " are read"));
}

// Calls consume(data, size) on consecutive blocks of the file.
template <class Consume>
absl::Status ReadBlocks(const std::string& path, int64_t max_bytes, Consume consume) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const ScopedDescriptor file(OpenForReading(path, O_NONBLOCK));
  if (file.get() < 0) return FileError(errno, "read", path);
  LRA_RETURN_IF_ERROR(CheckEnds(file.get(), path, max_bytes));
  std::string block(kBlockBytes, '\0');
  while (true) {
    const ssize_t count =
        RetryInterrupted([&] { return read(file.get(), block.data(), block.size()); });
    if (count < 0) return FileError(errno, "read", path);
    if (count == 0) return absl::OkStatus();
    consume(absl::string_view(block.data(), static_cast<size_t>(count)));
  }
}

// Writes all of `data` at `offset`, or at the descriptor's position if offset is negative.
absl::Status WriteAll(int descriptor, absl::string_view data, int64_t offset,
                      absl::string_view path) {
  while (!data.empty()) {
    const ssize_t count = RetryInterrupted([&] {
      return offset < 0 ? write(descriptor, data.data(), data.size())
                        : pwrite(descriptor, data.data(), data.size(), offset);
    });
    if (count < 0) return FileError(errno, "write", path);
    data.remove_prefix(static_cast<size_t>(count));
    if (offset >= 0) offset += count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(absl::string_view path, int64_t max_bytes) {
  std::string data;
  LRA_RETURN_IF_ERROR(ReadBlocks(std::string(path), max_bytes,
                                 [&](absl::string_view block) { absl::StrAppend(&data, block); }));
  return data;
}

absl::Status WriteFileAtomically(absl::string_view path, absl::string_view data) {
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  LRA_RETURN_IF_ERROR(writer.Write(data));
  return writer.Close();
}

absl::Status CheckCanWrite(absl::string_view path) { return FileWriter::Open(path).status(); }

absl::StatusOr<int64_t> FileSizeBytes(absl::string_view path) {
  struct stat info;
  if (stat(std::string(path).c_str(), &info) != 0) return FileError(errno, "read size of", path);
  return static_cast<int64_t>(info.st_size);
}

absl::Status MakeDirectories(absl::string_view path) {
  std::error_code error;
  std::filesystem::create_directories(WithoutTrailingSlashes(path), error);
  if (error) return FileError(error.value(), "make folder", path);
  return absl::OkStatus();
}

absl::Status RemoveAll(absl::string_view path) {
  std::error_code error;
  std::filesystem::remove_all(std::string(path), error);
  if (error) return FileError(error.value(), "remove", path);
  return absl::OkStatus();
}

absl::StatusOr<Sha256Digest> HashFile(absl::string_view path) {
  Sha256 hash;
  LRA_RETURN_IF_ERROR(ReadBlocks(std::string(path), std::numeric_limits<int64_t>::max(),
                                 [&](absl::string_view block) { hash.Update(block); }));
  return hash.Finish();
}

// --- FileWriter ---

absl::StatusOr<FileWriter> FileWriter::Open(absl::string_view path) {
  std::string final_path(path);
  struct stat info;
  // A rename would replace a device or a pipe by a regular file.
  if (stat(final_path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write \"", path, "\": it exists and is not a plain file"));
  }
  while (true) {
    std::string temporary = TemporaryName(path);
    const int descriptor = RetryInterrupted(
        [&] { return open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (descriptor >= 0) return FileWriter(std::move(final_path), std::move(temporary), descriptor);
    if (errno != EEXIST) return FileError(errno, "write", path);
  }
}

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)),
      error_(std::move(other.error_)),
      size_bytes_(other.size_bytes_),
      rewritten_(other.rewritten_),
      hash_(std::move(other.hash_)),
      digest_(other.digest_) {}

FileWriter::~FileWriter() { Discard(); }

void FileWriter::Discard() {
  if (descriptor_ < 0) return;
  close(std::exchange(descriptor_, -1));
  unlink(temporary_.c_str());
}

absl::Status FileWriter::Write(const void* data, size_t size_bytes) {
  LRA_CHECK(descriptor_ >= 0) << "write to closed file " << path_;
  size_bytes_ += static_cast<int64_t>(size_bytes);
  buffer_.append(static_cast<const char*>(data), size_bytes);
  return buffer_.size() < kBlockBytes ? absl::OkStatus() : Flush();
}

absl::Status FileWriter::Flush() {
  LRA_RETURN_IF_ERROR(error_);
  if (!rewritten_) hash_.Update(buffer_);
  error_ = WriteAll(descriptor_, buffer_, -1, path_);
  buffer_.clear();
  return error_;
}

absl::Status FileWriter::WriteAt(int64_t offset_bytes, absl::string_view data) {
  LRA_CHECK(descriptor_ >= 0) << "write to closed file " << path_;
  LRA_CHECK(offset_bytes >= 0 && offset_bytes + static_cast<int64_t>(data.size()) <= size_bytes_)
      << "WriteAt overwrites only what was written: " << path_;
  LRA_RETURN_IF_ERROR(Flush());
  rewritten_ = true;
  error_ = WriteAll(descriptor_, data, offset_bytes, path_);
  return error_;
}

absl::Status FileWriter::FlushAndSync() {
  LRA_RETURN_IF_ERROR(Flush());
  if (RetryInterrupted([&] { return fsync(descriptor_); }) < 0)
    return FileError(errno, "sync", path_);
  if (!rewritten_) {
    digest_ = hash_.Finish();
    return absl::OkStatus();
  }
  LRA_ASSIGN_OR_RETURN(digest_, HashFile(temporary_));
  return absl::OkStatus();
}

absl::Status FileWriter::Close() {
  LRA_CHECK(descriptor_ >= 0) << "closed twice: " << path_;
  if (absl::Status status = FlushAndSync(); !status.ok()) {
    Discard();
    return status;
  }
  // After EINTR Linux has closed the descriptor, and the data is synced.
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    const int error = errno;
    unlink(temporary_.c_str());
    return FileError(error, "close", path_);
  }
  absl::Status status = RenameAndSync(temporary_, path_);
  if (!status.ok()) unlink(temporary_.c_str());
  return status;
}

}  // namespace lra
