// A prepared data set opened for reading: manifest plus memory-mapped columns (docs/format.md).
//
//   LRA_ASSIGN_OR_RETURN(Dataset data, Dataset::Open("data/text", {.splits = {"train"}}));
//
// What a model reads is a split seen through a view: datasets/split_view.h.
#ifndef LRA_DATASETS_DATASET_H_
#define LRA_DATASETS_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"

namespace lra {

struct OpenOptions {
  // Splits to map and check; empty = all of the manifest.
  std::vector<std::string> splits = {};
  // With a view, `splits` are the view's, and what it needs of the stored ones is opened. Must
  // outlive the call.
  const DataView* view = nullptr;
  // Parts of data (`prepare --shard`) are refused unless this is set: a part is not the data.
  bool allow_part = false;
  // Compare size and SHA-256 of every file of these splits with the manifest before anything is
  // read.
  bool check_hashes = true;
  int threads = 0;
};

namespace internal {
struct MappedSplit;
}

// Copyable (shares the maps), safe for concurrent reading.
class Dataset {
 public:
  // DataLoss names the damaged file; NotFound the missing folder or split, with the `lra data
  // prepare` line that helps.
  static absl::StatusOr<Dataset> Open(absl::string_view directory, const OpenOptions& options);

  const Manifest& manifest() const { return *manifest_; }
  const TaskSpec& spec() const { return manifest_->spec(); }
  const std::string& directory() const { return directory_; }
  // nullptr if the split was not opened.
  const internal::MappedSplit* split(absl::string_view name) const;

 private:
  std::string directory_;
  std::shared_ptr<const Manifest> manifest_;
  std::vector<std::shared_ptr<const internal::MappedSplit>> splits_;
};

}  // namespace lra

#endif  // LRA_DATASETS_DATASET_H_
