// The bytes of an archive for libarchive: a file, a pipe or standard input, inflated here where
// they are gzip.
#ifndef LRA_DATASETS_ARCHIVE_INPUT_H_
#define LRA_DATASETS_ARCHIVE_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/gunzip.h"

struct archive;

namespace lra {

// bzip2, xz and zstd: libarchive checks their sums. Its "all" would start external programs for
// rare ones.
void AllowCompression(archive* handle);

class ArchiveInput {
 public:
  // `path` is empty for standard input. InvalidArgument for a zip that is no file: its directory
  // comes last, so that an entry that is damaged could be missed.
  static absl::StatusOr<std::unique_ptr<ArchiveInput>> Open(const std::string& path);
  ~ArchiveInput();

  // Opens `handle` on it, for tar and, of a file, zip; a code of libarchive's. Once.
  int Start(archive* handle);
  // Reads what libarchive left unread, so that all sums are checked. DataLoss.
  absl::Status Finish();
  // How many packed bytes were read; `handle` is what was started.
  int64_t PackedBytesRead(archive* handle) const;

 private:
  ArchiveInput(std::string path, int descriptor);
  absl::StatusOr<absl::string_view> ReadPacked();
  absl::StatusOr<absl::string_view> Read();
  static ssize_t OnRead(archive* handle, void* input, const void** block);

  const std::string path_;
  const int descriptor_;
  std::string block_;
  absl::string_view peeked_;      // of block_: the first bytes, not yet given out
  std::optional<Gunzip> gunzip_;  // where it is gzip
  bool is_stream_ = false;        // it cannot be opened again, nor read from its end
  int64_t read_bytes_ = 0;
};

}  // namespace lra

#endif  // LRA_DATASETS_ARCHIVE_INPUT_H_
