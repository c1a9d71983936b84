// A prepared data set opened for reading: the manifest and memory-mapped columns (docs/format.md).
//
//   LRA_ASSIGN_OR_RETURN(Dataset data, Dataset::Open("data/text", {.splits = {"train"}}));
//
// A model reads a split through a view: datasets/split_view.h.
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
  // The splits to map and check; empty = all splits of the manifest.
  std::vector<std::string> splits = {};
  // With a view, `splits` names splits of the view, and the stored splits that these need are
  // opened. The view must outlive the call.
  const DataView* view = nullptr;
  // Whether a part of a data set (`prepare --shard`) may be opened. It is refused otherwise,
  // because results on a part would be taken for results on the data set.
  bool allow_part = false;
  // Whether size and SHA-256 of every file of these splits are compared with the manifest before
  // anything is read.
  bool check_hashes = true;
  // For opening, and for what views of it compute when they are made; 0 = all cores.
  int threads = 0;
};

namespace internal {
struct MappedSplit;
}

// Copyable (copies share the maps); safe for concurrent reading.
class Dataset {
 public:
  // DataLoss names the damaged file. NotFound names the missing folder or split and gives the `lra
  // data prepare` command that makes it.
  static absl::StatusOr<Dataset> Open(absl::string_view directory, const OpenOptions& options);

  const Manifest& manifest() const { return *manifest_; }
  const TaskSpec& spec() const { return manifest_->spec(); }
  const std::string& directory() const { return directory_; }
  // OpenOptions::threads, as asked for.
  int threads() const { return threads_; }
  // Returns nullptr if the split was not opened.
  const internal::MappedSplit* split(absl::string_view name) const;

 private:
  std::string directory_;
  int threads_ = 0;
  std::shared_ptr<const Manifest> manifest_;
  std::vector<std::shared_ptr<const internal::MappedSplit>> splits_;
};

}  // namespace lra

#endif  // LRA_DATASETS_DATASET_H_
