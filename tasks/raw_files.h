// Helpers for readers of raw data that consists of many files.
#ifndef LRA_TASKS_RAW_FILES_H_
#define LRA_TASKS_RAW_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/archive.h"
#include "datasets/manifest.pb.h"
#include "lra/sha256.h"
#include "tasks/task.h"

namespace lra {

// Reads all of the source's current entry. DataLoss if it is longer than `max_bytes`.
absl::StatusOr<std::string> ReadWholeEntry(RawSource* source, const RawEntry& entry,
                                           size_t max_bytes);

// Whether a part of the path begins with a dot, other than "." and "..": no file of a data set.
bool IsHidden(absl::string_view path);

// Many small files under one name of the manifest: their total size, and the SHA-256 over the
// SHA-256 digests of the files in the order of their keys, so that the order of an archive does not
// matter. Takes 40 bytes a file.
class FileSet {
 public:
  void Add(uint64_t key, absl::string_view bytes);
  // A file that was hashed before.
  void Add(uint64_t key, const Sha256Digest& digest, int64_t size_bytes);
  bool empty() const { return files_.empty(); }
  ManifestSource Source(absl::string_view name) const;

 private:
  int64_t size_bytes_ = 0;
  std::vector<std::pair<uint64_t, Sha256Digest>> files_;
};

// "reviews" of "data/reviews/", "a.csv" of "data/a.csv".
std::string LastPartOf(absl::string_view path);
// Name, size and SHA-256 of a file of these bytes.
ManifestSource SourceOfFile(absl::string_view path, absl::string_view bytes);

// An example whose tokens are the bytes of `raw`, with its label, and the way back.
EncodedExample ExampleOfBytes(const RawExample& raw);
RawExample BytesOfExample(const EncodedExample& example);
// Tokens that are bytes, as readable text: what is not printed is escaped, as in "\x01" and "\n",
// and of what is no UTF-8 all that is no ASCII.
std::string BytesText(absl::Span<const uint16_t> tokens);

// Writes a file of a sample, and the folders it lies in.
absl::Status WriteSampleFile(absl::string_view folder, absl::string_view name,
                             absl::string_view bytes);

}  // namespace lra

#endif  // LRA_TASKS_RAW_FILES_H_
