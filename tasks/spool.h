// Keeps examples on disk, in the order in which an archive holds them, until their final order is
// known. In memory, an example takes 64 bytes.
#ifndef LRA_TASKS_SPOOL_H_
#define LRA_TASKS_SPOOL_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/task_spec.pb.h"
#include "tasks/dataset_builder.h"

namespace lra {

// Not thread-safe. The file has no name, so it disappears with the process, however that ends.
class Spool {
 public:
  // Creates the file in `directory`, which needs room for all tokens.
  static absl::StatusOr<Spool> Create(absl::string_view directory, const TaskSpec& spec);
  Spool(Spool&& other) noexcept;
  Spool& operator=(Spool&&) = delete;
  ~Spool();

  // InvalidArgument if the key was added before. Errors of the disk name the folder.
  absl::Status Add(uint64_t key, const EncodedExample& example);
  // NotFound for a key that was never added; DataLoss if the file ends early.
  absl::StatusOr<EncodedExample> Read(uint64_t key) const;
  int64_t examples() const { return static_cast<int64_t>(places_.size()); }

 private:
  Spool(absl::string_view directory, int descriptor, const TaskSpec& spec)
      : directory_(directory), descriptor_(descriptor), spec_(spec) {}
  absl::Status Flush();
  absl::Status Error(absl::string_view verb) const;  // made from errno

  struct Place {
    int64_t offset_bytes = 0;
    int32_t tokens = 0, tokens_b = 0, label = 0;
  };
  std::string directory_;
  int descriptor_;
  TaskSpec spec_;
  std::string buffer_;  // not written yet
  int64_t written_bytes_ = 0;
  absl::flat_hash_map<uint64_t, Place> places_;
};

}  // namespace lra

#endif  // LRA_TASKS_SPOOL_H_
