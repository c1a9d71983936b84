// Reads the part of Python's pickle format (protocols 2 to 5) that dictionaries of strings,
// integers, lists and NumPy arrays need (opcodes: CPython's pickletools.py). Any other opcode or
// name is an error.
#ifndef LRA_TASKS_IMAGE_PICKLE_READER_H_
#define LRA_TASKS_IMAGE_PICKLE_READER_H_

#include <cstdint>
#include <deque>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/image/pickle_value.h"

namespace lra::image {

// A pickle with more opcodes is refused; the dictionaries of CIFAR-10 have about 40,000.
inline constexpr int64_t kMaxPickleOpcodes = int64_t{1} << 18;

// The values of one pickle. Movable; refers to the bytes that it was parsed from.
class Pickle {
 public:
  // InvalidArgument names the byte and the opcode at which parsing ended, and what was found.
  // Nothing may follow the pickle. Allocates at most 128 bytes an opcode and 32 MiB in all,
  // whatever the bytes say.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes);

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_PICKLE_READER_H_
