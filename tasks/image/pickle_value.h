// Values of a pickle, and what the few names that make NumPy arrays mean (NumPy's
// ndarray.__reduce_ex__). Nothing of Python's is ever called.
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
    kBool,    // integer
    kInt,     // integer
    kBytes,   // bytes: Python 2's str, Python 3's bytes and bytearray
    kText,    // bytes: its UTF-8, not checked
    kTuple,   // items
    kList,    // items
    kDict,    // items: key, value, key, value, ...
    kGlobal,  // integer: which of the known names
    kDtype,   // bytes: "u1"
    // integer: 1 for Fortran order; items: shape (a tuple), dtype, values (bytes). No items: begun
    // but never filled.
    kArray,
  };
  Kind kind = Kind::kNone;
  // Bytes that are written as the UTF-8 of their Latin-1 text (by Python 3 in protocol 2).
  bool is_latin1 = false;
  int64_t integer = 0;
  absl::string_view bytes;
  std::vector<const PickleValue*> items;  // may hold the value itself, directly or not
};

// "a list"
absl::string_view PickleKindName(PickleValue::Kind kind);

// The value of a key that is a string or bytes, the last one if there are several; nullptr if there
// is none. `dict` is a kDict.
const PickleValue* FindKey(const PickleValue& dict, absl::string_view key);

// The kGlobal for one of the names with which arrays are made; InvalidArgument for all others.
absl::StatusOr<PickleValue> KnownGlobal(absl::string_view module, absl::string_view name);

// What callee(*arguments) gives: an array, a type, or bytes from Latin-1 text.
absl::StatusOr<PickleValue> Call(const PickleValue& callee, const PickleValue& arguments);

// What target.__setstate__(state) does: fills an array; finds nothing to do for a plain type.
absl::Status SetState(const PickleValue& state, PickleValue* target);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_PICKLE_VALUE_H_
