// Files that appear whole or not at all: written beside, flushed to the disk, renamed. A killed
// process leaves nothing that a later one takes for good (a leftover is named
// "<name>.tmp-<pid>-<n>").
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

// The whole file. NotFound names the path.
absl::StatusOr<std::string> ReadFile(absl::string_view path);

// Replaces `path` by `data` atomically, with fsync of file and folder.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view data);

bool FileExists(absl::string_view path);
absl::StatusOr<int64_t> FileSizeBytes(absl::string_view path);
// mkdir -p.
absl::Status MakeDirectories(absl::string_view path);
absl::Status RemoveAll(absl::string_view path);
// Puts the folder `fresh` in the place of the folder `out` and removes what was there: at every
// moment `out` is the old or the new one, whole. On an error `out` is the old one and `fresh` gone.
absl::Status ReplaceDirectory(absl::string_view fresh, absl::string_view out);
// "a" + "b" = "a/b"; an absolute second part wins.
std::string JoinPath(absl::string_view a, absl::string_view b);
// Digest of a file's bytes, read in blocks.
absl::StatusOr<Sha256Digest> HashFile(absl::string_view path);

// A file being written; it takes its name at Close, and disappears if the object dies before.
// Hashes as it writes. Not thread-safe.
class FileWriter {
 public:
  static absl::StatusOr<FileWriter> Open(absl::string_view path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  absl::Status Write(const void* data, size_t size_bytes);
  absl::Status Write(absl::string_view data) { return Write(data.data(), data.size()); }
  // Overwrites bytes that were written before (a header whose counts are known at the end). The
  // running hash is then void: Close hashes the file anew.
  absl::Status WriteAt(int64_t offset_bytes, absl::string_view data);
  // Flushes, renames into place.
  absl::Status Close();

  int64_t size_bytes() const { return size_bytes_; }
  // After Close.
  const Sha256Digest& digest() const { return digest_; }

 private:
  FileWriter(std::string path, std::string temporary, int descriptor);
  absl::Status Flush();
  absl::Status FlushAndSync();
  void Discard();
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::string buffer_;  // written, but not yet handed to the system
  absl::Status error_;  // the first that happened: Close returns it again
  int64_t size_bytes_ = 0;
  bool rewritten_ = false;
  Sha256 hash_;
  Sha256Digest digest_{};
};

// A folder being filled: work in path(), then Commit() renames it to its final name. Without Commit
// it is removed; what a killed process left beside the same target is removed at the next Create
// a minute later or more.
// Fails if the target exists, unless it is an empty folder.
class StagingDirectory {
 public:
  // With `replace`, Commit puts it in the place of the folder that is there (ReplaceDirectory).
  static absl::StatusOr<StagingDirectory> Create(absl::string_view final_path,
                                                 bool replace = false);
  StagingDirectory(StagingDirectory&& other) noexcept;
  StagingDirectory& operator=(StagingDirectory&&) = delete;
  ~StagingDirectory();

  const std::string& path() const { return path_; }
  absl::Status Commit();

 private:
  StagingDirectory(std::string path, std::string final_path, int lock, bool replace);
  std::string path_, final_path_;
  int lock_ = -1;  // a descriptor of the folder, locked
  bool replace_ = false;
};

// An advisory lock (flock) that ends with the process, however it ends. FailedPrecondition when
// another process holds it. The file stays unless its holder removes it.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Acquire(absl::string_view path);
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  // Of the lock file, while it is held: who comes next makes a new one.
  void RemoveFile() const;

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
};

}  // namespace lra

#endif  // LRA_FILES_H_
