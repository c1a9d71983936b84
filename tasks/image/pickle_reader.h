// Reads the part of Python's pickle format (protocols 2 to 5) in which dictionaries of strings,
// integers, lists and NumPy arrays are written (opcodes: CPython's pickletools.py). An opcode or a
// name that such a dictionary does not need is an error.
#ifndef LRA_TASKS_IMAGE_PICKLE_READER_H_
#define LRA_TASKS_IMAGE_PICKLE_READER_H_

#include <cstdint>
#include <deque>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tasks/image/pickle_value.h"

namespace lra::image {

// A longer pickle is refused; the dictionaries of CIFAR-10 have about 40,000.
inline constexpr int64_t kMaxPickleOpcodes = int64_t{1} << 18;

// The values of one pickle. Movable; views the bytes that it was parsed from.
class Pickle {
 public:
  // InvalidArgument names the byte and the opcode at which parsing ended, and what was found. The
  // bytes must end with the pickle. Allocates at most 128 bytes an opcode, 32 MiB in all, whatever
  // the bytes say.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes);

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_PICKLE_READER_H_
