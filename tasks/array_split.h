// One split of labelled arrays in an .npz file, as `lra data import` reads it.
#ifndef LRA_TASKS_ARRAY_SPLIT_H_
#define LRA_TASKS_ARRAY_SPLIT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "datasets/manifest.pb.h"
#include "datasets/npy.h"
#include "lra/task_spec.pb.h"

namespace lra {

// The arrays of docs/data_only_task.md, whose types and shapes go together; values are checked as
// they are read. Memory: the unpacked file, at most 8 GiB,
// and up to as much again while it is unpacked. Safe for concurrent reading.
class ArraySplit {
 public:
  // InvalidArgument names an array that is missing, unknown, or of a wrong type or shape; DataLoss
  // for a damaged file and one without examples; NotFound.
  static absl::StatusOr<ArraySplit> Open(const std::string& path);

  int64_t examples() const { return labels_.header().shape[0]; }
  TaskSpec::Content content() const { return content_; }
  bool has_images() const { return content_ != TaskSpec::IDS; }
  // The pictures are side x side pixels.
  int64_t side_pixels() const { return values_.header().shape[1]; }
  const ManifestSource& source() const { return source_; }
  // The example's values as they are stored, and its label. DataLoss for a value that cannot be.
  absl::StatusOr<EncodedExample> Example(int64_t i) const;
  std::string Where(int64_t i) const { return absl::StrCat(path_, ", example ", i); }

 private:
  using Arrays = std::map<std::string, MappedNpy>;

  absl::Status Wrong(absl::string_view array, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ", array \"", array, "\": ", what));
  }
  absl::StatusOr<MappedNpy> Take(Arrays* arrays, const std::string& name) const;
  absl::Status TakeTokens(Arrays* arrays);
  absl::Status TakeImages(Arrays* arrays);
  absl::StatusOr<std::vector<uint16_t>> Tokens(int64_t i) const;
  std::vector<uint16_t> Pixels(int64_t i) const;
  // The places of example i among the values.
  absl::StatusOr<std::pair<int64_t, int64_t>> Range(int64_t i) const;

  std::string path_;
  TaskSpec::Content content_ = TaskSpec::IDS;
  MappedNpy labels_, values_, offsets_;
  bool has_offsets_ = false;
  ManifestSource source_;
};

}  // namespace lra

#endif  // LRA_TASKS_ARRAY_SPLIT_H_
