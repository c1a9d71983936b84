// A prepared data set opened for reading: manifest plus memory-mapped columns (docs/format.md).
//
//   LRA_ASSIGN_OR_RETURN(Dataset data, Dataset::Open("data/listops", {.splits = {"train",
//   "validation"}})); LRA_ASSIGN_OR_RETURN(SplitView train, SplitView::Create(data, "train",
//   view));
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

// One split seen through a DataView. Safe for concurrent reading.
class SplitView {
 public:
  // FailedPrecondition when the stored data cannot serve the view (says which field, and the
  // prepare line).
  static absl::StatusOr<SplitView> Create(const Dataset& data, absl::string_view split,
                                          const DataView& view);

  int64_t size() const { return size_; }
  int32_t label(int64_t example) const;
  // Length after the view (brackets, cut). Never 0 in valid data.
  int32_t length_tokens(int64_t example) const { return lengths_[example]; }
  // Replaces *tokens by the example's ids after the view.
  void Read(int64_t example, std::vector<int32_t>* tokens) const;
  // Upper bound on length_tokens: the view's maximum, or the longest stored example if that is
  // shorter.
  int32_t max_length_tokens() const { return max_length_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  Dataset data_;
  const internal::MappedSplit* split_ = nullptr;
  int64_t size_ = 0;
  int32_t cut_tokens_ = 0;
  int32_t dropped_id_ = 0;  // 0 = none
  int32_t max_length_ = 0;
  std::vector<int32_t> lengths_;
};

}  // namespace lra

#endif  // LRA_DATASETS_DATASET_H_
