#include "tasks/image/pickle_value.h"

#include "absl/strings/str_cat.h"
#include "lra/excerpt.h"

namespace lra::image {
namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<const PickleValue*>;

enum GlobalId : int64_t { kReconstruct, kNdarray, kDtypeClass, kEncode, kFromBuffer };
struct GlobalName {
  absl::string_view module, name;
  GlobalId id;
};
// NumPy 2 renamed numpy.core; protocol 5 uses _frombuffer.
constexpr GlobalName kGlobals[] = {
    {"numpy.core.multiarray", "_reconstruct", kReconstruct},
    {"numpy._core.multiarray", "_reconstruct", kReconstruct},
    {"numpy", "ndarray", kNdarray},
    {"numpy", "dtype", kDtypeClass},
    {"_codecs", "encode", kEncode},
    {"numpy.core.numeric", "_frombuffer", kFromBuffer},
    {"numpy._core.numeric", "_frombuffer", kFromBuffer},
};

bool IsKind(const PickleValue* value, Kind kind) { return value->kind == kind; }
bool IsString(const PickleValue* value) {
  return IsKind(value, Kind::kText) || IsKind(value, Kind::kBytes);
}

// Matches (class, shape, type); SetState sets all three later.
bool IsNewArray(const Items& items) {
  return items.size() == 3 && IsKind(items[0], Kind::kGlobal) && items[0]->integer == kNdarray;
}

// Matches (text, "latin1").
bool IsLatin1(const Items& items) {
  return items.size() == 2 && IsKind(items[0], Kind::kText) && IsString(items[1]) &&
         items[1]->bytes == "latin1";
}

// Matches (values, type, shape, order).
bool IsBuffer(const Items& items) {
  return items.size() == 4 && IsKind(items[0], Kind::kBytes) && IsKind(items[1], Kind::kDtype) &&
         IsKind(items[2], Kind::kTuple) && IsString(items[3]) &&
         (items[3]->bytes == "C" || items[3]->bytes == "F");
}

// Matches (version, shape, type, whether in Fortran order, values).
bool IsArrayState(const Items& items) {
  return items.size() == 5 && IsKind(items[1], Kind::kTuple) && IsKind(items[2], Kind::kDtype) &&
         (IsKind(items[3], Kind::kBool) || IsKind(items[3], Kind::kInt)) &&
         IsKind(items[4], Kind::kBytes);
}

// Matches (version, byte order, three values that only record types use, ...).
bool IsPlainTypeState(const Items& items) {
  return items.size() >= 5 && IsKind(items[2], Kind::kNone) && IsKind(items[3], Kind::kNone) &&
         IsKind(items[4], Kind::kNone);
}

}  // namespace

absl::string_view PickleKindName(PickleValue::Kind kind) {
  constexpr absl::string_view kNames[] = {"None",          "a bool",  "an integer", "bytes",
                                          "a string",      "a tuple", "a list",     "a dictionary",
                                          "a global name", "a type",  "an array"};
  return kNames[static_cast<int>(kind)];
}

const PickleValue* FindKey(const PickleValue& dict, absl::string_view key) {
  const PickleValue* found = nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    if (IsString(dict.items[i]) && dict.items[i]->bytes == key) found = dict.items[i + 1];
  }
  return found;
}

absl::StatusOr<PickleValue> KnownGlobal(absl::string_view module, absl::string_view name) {
  for (const GlobalName& known : kGlobals) {
    if (known.module == module && known.name == name) {
      return PickleValue{Kind::kGlobal, false, known.id};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("the name ", Excerpt(name), " of module ",
                                                 Excerpt(module),
                                                 "; only those that make NumPy arrays are known"));
}

absl::StatusOr<PickleValue> Call(const PickleValue& callee, const PickleValue& arguments) {
  if (callee.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
    return absl::InvalidArgumentError(absl::StrCat("a call of ", PickleKindName(callee.kind),
                                                   " with ", PickleKindName(arguments.kind)));
  }
  const Items& items = arguments.items;
  if (callee.integer == kReconstruct && IsNewArray(items)) return PickleValue{Kind::kArray};
  if (callee.integer == kDtypeClass && !items.empty() && IsString(items[0])) {
    return PickleValue{Kind::kDtype, false, 0, items[0]->bytes};
  }
  if (callee.integer == kEncode && IsLatin1(items)) {
    return PickleValue{Kind::kBytes, true, 0, items[0]->bytes};
  }
  if (callee.integer == kFromBuffer && IsBuffer(items)) {
    const int64_t is_fortran = items[3]->bytes == "F" ? 1 : 0;
    return PickleValue{Kind::kArray, false, is_fortran, {}, {items[2], items[1], items[0]}};
  }
  return absl::InvalidArgumentError("a call that makes no array, no type and no bytes");
}

absl::Status SetState(const PickleValue& state, PickleValue* target) {
  const Items& items = state.items;
  if (state.kind == Kind::kTuple && target->kind == Kind::kArray && target->items.empty() &&
      IsArrayState(items)) {
    target->integer = items[3]->integer != 0 ? 1 : 0;
    target->items = {items[1], items[2], items[4]};
    return absl::OkStatus();
  }
  if (state.kind == Kind::kTuple && target->kind == Kind::kDtype && IsPlainTypeState(items)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a state that ", PickleKindName(target->kind), " does not have"));
}

}  // namespace lra::image
