// Raw data as it is distributed: a folder, a .tar (with any compression and any name), a .zip, or
// a tar on standard input. Entries are streamed one after the other and nothing is unpacked to
// disk. So memory stays bounded (about 1 MB of libarchive's blocks; for a folder, the paths of its
// files), and a hostile path or link in an archive leads nowhere.
//
//   LRA_ASSIGN_OR_RETURN(auto source, OpenRawSource("lra_release.gz"));
//   LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source->Next());
#ifndef LRA_DATASETS_ARCHIVE_H_
#define LRA_DATASETS_ARCHIVE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

struct RawEntry {
  // Path inside the folder or archive; bytes that are neither printable ASCII nor UTF-8 are
  // escaped.
  std::string name;
  // Whether it is a symbolic or hard link in an archive. Reading it is an error, so that whoever
  // wants a file of this name learns that it is not there, and all others pass over it.
  bool is_link = false;
};

// To be used by one consumer. Errors name the source and the entry.
class RawSource {
 public:
  virtual ~RawSource() = default;
  // Moves on to the next regular file, or link in an archive, and skips the rest of the current
  // one; nullopt at the end, also when called again. Devices and folders inside an archive are
  // skipped. The files of a folder come in the order of their paths; links in it are followed.
  // DataLoss if an archive was cut off, even between two entries, or damaged; of a gzip, the sum of
  // all its bytes is known at the end.
  virtual absl::StatusOr<std::optional<RawEntry>> Next() = 0;
  // Reads 1 to `size_bytes` bytes of the current file; returns 0 at its end. DataLoss for a link in
  // an archive.
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) = 0;
  // How much of the source was read, 0 to 1; 0 when that is unknown (standard input). Safe to call
  // from any thread.
  virtual double fraction_read() const { return 0; }
  // The name for messages, e.g. "lra_release.gz" or "standard input".
  virtual const std::string& name() const = 0;
};

// Opens a path; "-" is standard input. NotFound names a missing path; DataLoss if a file is not an
// archive; InvalidArgument for a folder with a link back to a folder that it lies in, and for a zip
// that comes through a pipe.
absl::StatusOr<std::unique_ptr<RawSource>> OpenRawSource(absl::string_view path);

// What a file compressed by gzip, bzip2, xz or zstd holds. DataLoss if it was cut off or damaged,
// and if more than `max_bytes` come out; the caller names the file.
absl::StatusOr<std::string> Decompress(absl::string_view file, size_t max_bytes);

}  // namespace lra

#endif  // LRA_DATASETS_ARCHIVE_H_
