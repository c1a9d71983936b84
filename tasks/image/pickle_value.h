// Values of a pickle, and the meaning of the few names that make NumPy arrays (NumPy's
// ndarray.__reduce_ex__). No Python code is ever called.
#ifndef LRA_TASKS_IMAGE_PICKLE_VALUE_H_
#define LRA_TASKS_IMAGE_PICKLE_VALUE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::image {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,    // uses `integer`
    kInt,     // uses `integer`
    kBytes,   // uses `bytes`: Python 2's str, Python 3's bytes and bytearray
    kText,    // uses `bytes`: UTF-8, not checked
    kTuple,   // uses `items`
    kList,    // uses `items`
    kDict,    // uses `items`: key, value, key, value, ...
    kGlobal,  // uses `integer`: index of the known name
    kDtype,   // uses `bytes`: "u1"
    // Uses `integer` (1 for Fortran order) and `items`: shape (a tuple), dtype, values (bytes). An
    // array that was created but not filled yet has no items.
    kArray,
  };
  Kind kind = Kind::kNone;
  // Whether `bytes` are the UTF-8 of Latin-1 text, as Python 3 writes them in protocol 2.
  bool is_latin1 = false;
  int64_t integer = 0;
  absl::string_view bytes;
  std::vector<const PickleValue*> items;  // may contain the value itself, directly or not
};

// The name of a kind for messages, e.g. "a list".
absl::string_view PickleKindName(PickleValue::Kind kind);

// The value of a key that is a string or bytes, the last one if there are several; nullptr if there
// is none. `dict` is a kDict.
const PickleValue* FindKey(const PickleValue& dict, absl::string_view key);

// The kGlobal for one of the names that arrays are made with; InvalidArgument for any other name.
absl::StatusOr<PickleValue> KnownGlobal(absl::string_view module, absl::string_view name);

// The result of callee(*arguments): an array, a type, or bytes from Latin-1 text.
absl::StatusOr<PickleValue> Call(const PickleValue& callee, const PickleValue& arguments);

// Does what target.__setstate__(state) would: fills an array; for a plain type there is nothing to
// do.
absl::Status SetState(const PickleValue& state, PickleValue* target);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_PICKLE_VALUE_H_
