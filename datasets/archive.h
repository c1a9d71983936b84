// Raw files as they are distributed: a folder, a .tar (however compressed and whatever it is
// called) or .zip, or either of those on standard input. Entries are streamed one after the other
// and nothing is unpacked, so memory stays bounded (libarchive's blocks, about 1 MB; of a folder
// the paths of its files) and a hostile path or link in an archive never reaches the disk.
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
  // Path inside the folder or archive; bytes that are not printable ASCII or UTF-8 are escaped.
  std::string name;
};

// One consumer. Errors name the source and the entry.
class RawSource {
 public:
  virtual ~RawSource() = default;
  // Moves on to the next plain file, leaving the rest of the present one unread; nullopt at the
  // end, however often. Links, devices and folders inside an archive are passed over. A folder's
  // files come in the order of their paths. DataLoss for an archive that was cut off, between
  // entries too.
  virtual absl::StatusOr<std::optional<RawEntry>> Next() = 0;
  // Reads 1 to `size_bytes` bytes of the present file; 0 at its end.
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) = 0;
  // How much of the source was read, 0 to 1; 0 when that is unknown (standard input). Safe to call
  // from any thread.
  virtual double fraction_read() const { return 0; }
  // "lra_release.gz", "standard input".
  virtual const std::string& name() const = 0;
};

// "-" is standard input. NotFound names a missing path; DataLoss says when a file is no archive.
absl::StatusOr<std::unique_ptr<RawSource>> OpenRawSource(absl::string_view path);

}  // namespace lra

#endif  // LRA_DATASETS_ARCHIVE_H_
