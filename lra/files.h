// Files that appear complete or not at all: they are written under a temporary name
// ("<name>.tmp-<pid>-<n>"), flushed to the disk and renamed. A killed process leaves nothing that
// could be mistaken for a complete file.
#ifndef LRA_FILES_H_
#define LRA_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/sha256.h"

namespace lra {

// The largest file that ReadFile() takes where its caller knows no smaller bound: 16 GiB.
inline constexpr int64_t kMaxReadBytes = int64_t{16} << 30;

// Reads the whole file. NotFound names the path; InvalidArgument for a pipe or a device, which
// might never end, and for a file of more than `max_bytes`.
absl::StatusOr<std::string> ReadFile(absl::string_view path, int64_t max_bytes = kMaxReadBytes);

// Replaces `path` by `data` atomically, with fsync of file and folder.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view data);

bool FileExists(absl::string_view path);
absl::StatusOr<int64_t> FileSizeBytes(absl::string_view path);
// Makes the folder and all missing ones above it, like `mkdir -p`.
absl::Status MakeDirectories(absl::string_view path);
absl::Status RemoveAll(absl::string_view path);
// Puts the folder `fresh` in the place of the folder `out` and removes what was there. At every
// moment `out` is complete, either the old folder or the new one. After an error `out` is the old
// one and `fresh` is removed.
absl::Status ReplaceDirectory(absl::string_view fresh, absl::string_view out);
// Joins "a" and "b" to "a/b"; if the second part is absolute, it is returned alone.
std::string JoinPath(absl::string_view a, absl::string_view b);
// From the root on, without "." and "..", and without a slash at its end.
std::string AbsolutePath(absl::string_view path);
// Where a folder of this name lies or would be made: links at its end are followed, even to what is
// not there yet, and a slash or "/." at its end is dropped. InvalidArgument for links in a circle.
absl::StatusOr<std::string> FollowLinks(absl::string_view path);
// Digest of a file's bytes, read in blocks. InvalidArgument for a pipe or a device.
absl::StatusOr<Sha256Digest> HashFile(absl::string_view path);

// Whether a file could be written there now, before work that ends with it: the errors of
// FileWriter::Open.
absl::Status CheckCanWrite(absl::string_view path);

// A file being written. It gets its name at Close; if the object is destroyed before, the file is
// removed. Computes the SHA-256 while writing. Not thread-safe.
class FileWriter {
 public:
  static absl::StatusOr<FileWriter> Open(absl::string_view path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Write(const void* data, size_t size_bytes);
  absl::Status Write(absl::string_view data) { return Write(data.data(), data.size()); }
  // Overwrites bytes that were written before, e.g. a header whose counts are known only at the
  // end. The running hash is then invalid, so Close reads and hashes the file again.
  absl::Status WriteAt(int64_t offset_bytes, absl::string_view data);
  // Flushes the file and renames it into place.
  absl::Status Close();

  int64_t size_bytes() const { return size_bytes_; }
  // Valid after Close.
  const Sha256Digest& digest() const { return digest_; }

 private:
  FileWriter(std::string path, std::string temporary, int descriptor);
  absl::Status Flush();
  absl::Status FlushAndSync();
  void Discard();
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::string buffer_;  // appended, but not yet passed to the operating system
  absl::Status error_;  // the first error that happened; Close returns it again
  int64_t size_bytes_ = 0;
  bool rewritten_ = false;
  Sha256 hash_;
  Sha256Digest digest_{};
};

// A folder being filled: write into path(), then Commit() renames it to its final name; without
// Commit it is removed. While it is filled it holds a locked file, ".staging". Create also removes
// what killed processes left beside the same target, once it is a minute old. Fails if the target
// exists, unless it is an empty folder. Where the target is a link, all of this is about the folder
// that it leads to, and the link stays.
class StagingDirectory {
 public:
  // With `replace`, Commit replaces an existing folder (ReplaceDirectory).
  static absl::StatusOr<StagingDirectory> Create(absl::string_view final_path,
                                                 bool replace = false);
  StagingDirectory(StagingDirectory&& other) noexcept;
  StagingDirectory& operator=(StagingDirectory&&) = delete;
  ~StagingDirectory();

  const std::string& path() const { return path_; }
  // AlreadyExists if the target has been filled since.
  absl::Status Commit();

 private:
  StagingDirectory(std::string path, std::string final_path, int lock, bool replace);
  void Unlock();

  std::string path_, final_path_;
  int lock_ = -1;  // descriptor of the locked file in it
  bool replace_ = false;
};

// An advisory lock (flock) that ends with the process, however the process ends. FailedPrecondition
// while another process holds it; Unimplemented where the file system has none. On network file
// systems it may reach no further than one machine (lra/lease.h does). The file remains unless its
// holder removes it.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Acquire(absl::string_view path);
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  // Removes the lock file while it is held; the next process makes a new one.
  void RemoveFile() const;

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
};

}  // namespace lra

#endif  // LRA_FILES_H_
