// SetField of lra/config.h.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "lra/config.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using Path = absl::Span<const std::string>;

absl::Status WrongType(absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("\"", value, "\" is not ", expected));
}

template <class Int>
absl::Status ParseInt(absl::string_view value, const std::function<void(Int)>& set) {
  Int number;
  if (!absl::SimpleAtoi(value, &number)) {
    return WrongType(value, absl::StrCat("a whole number from ", std::numeric_limits<Int>::min(),
                                         " to ", std::numeric_limits<Int>::max()));
  }
  set(number);
  return absl::OkStatus();
}

absl::Status SetEnum(pb::Message* message, const Field* field, absl::string_view value) {
  const std::string name = absl::AsciiStrToUpper(value);
  const pb::EnumValueDescriptor* found = field->enum_type()->FindValueByName(name);
  if (found == nullptr || found->number() == 0) {
    return UnknownNameError("value", name, EnumNames(field->enum_type()));
  }
  message->GetReflection()->SetEnum(message, field, found);
  return absl::OkStatus();
}

absl::Status SetScalar(pb::Message* message, const Field* field, absl::string_view value) {
  const pb::Reflection& r = *message->GetReflection();
  float single;
  double number;
  bool flag;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return ParseInt<int32_t>(value, [&](int32_t n) { r.SetInt32(message, field, n); });
    case Field::CPPTYPE_INT64:
      return ParseInt<int64_t>(value, [&](int64_t n) { r.SetInt64(message, field, n); });
    case Field::CPPTYPE_UINT32:
      return ParseInt<uint32_t>(value, [&](uint32_t n) { r.SetUInt32(message, field, n); });
    case Field::CPPTYPE_UINT64:
      return ParseInt<uint64_t>(value, [&](uint64_t n) { r.SetUInt64(message, field, n); });
    case Field::CPPTYPE_FLOAT:
      if (!absl::SimpleAtof(value, &single) || !std::isfinite(single)) {
        return WrongType(value, "a finite number");
      }
      r.SetFloat(message, field, single);
      return absl::OkStatus();
    case Field::CPPTYPE_DOUBLE:
      if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) {
        return WrongType(value, "a finite number");
      }
      r.SetDouble(message, field, number);
      return absl::OkStatus();
    case Field::CPPTYPE_BOOL:
      if (!absl::SimpleAtob(value, &flag)) return WrongType(value, "true or false");
      r.SetBool(message, field, flag);
      return absl::OkStatus();
    case Field::CPPTYPE_ENUM:
      return SetEnum(message, field, value);
    default:
      r.SetString(message, field, std::string(value));
      return absl::OkStatus();
  }
}

absl::Status IsGroup(absl::string_view name, const pb::Descriptor* type) {
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is a group of fields; set one of ",
                                                 absl::StrJoin(FieldNames(type), ", ")));
}

absl::Status SetPath(pb::Message* message, Path path, absl::string_view value);

absl::Status SetInAny(pb::Message* any, Path path, absl::string_view value) {
  const std::unique_ptr<pb::Message> packed = UnpackAny(*any);
  if (packed == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path[0],
                     "\" is unset, so its fields are unknown: choose first what they "
                     "belong to, e.g. an attention"));
  }
  if (path.size() == 1) return IsGroup(path[0], packed->GetDescriptor());
  LRA_RETURN_IF_ERROR(SetPath(packed.get(), path.subspan(1), value));
  PackAny(*packed, any);
  return absl::OkStatus();
}

// On an error the message may be half changed.
absl::Status SetPath(pb::Message* message, Path path, absl::string_view value) {
  const Field* field = message->GetDescriptor()->FindFieldByName(path[0]);
  if (field == nullptr) {
    return UnknownNameError("field", path[0], FieldNames(message->GetDescriptor()));
  }
  if (field->is_repeated()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", path[0], "\" is a ",
                                                   field->is_map() ? "map" : "list",
                                                   ", which only a file can set"));
  }
  if (IsMessageField(field)) {
    pb::Message* inner = message->GetReflection()->MutableMessage(message, field);
    if (IsAnyField(field)) return SetInAny(inner, path, value);
    if (path.size() == 1) return IsGroup(path[0], field->message_type());
    return SetPath(inner, path.subspan(1), value);
  }
  if (path.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path[0], "\" is a value and has no field \"", path[1], "\""));
  }
  LRA_RETURN_IF_ERROR(SetScalar(message, field, value));
  return CheckValue(*message, field, path[0]);
}

// Full paths that end in `name`: `--set learning_rate=1` lacks its group.
std::vector<std::string> PathsEndingIn(const pb::Message& message, absl::string_view name) {
  std::vector<std::string> all = UnsetFields(message), found;
  for (const auto& [path, value] : LeafFields(message)) all.push_back(path);
  for (const std::string& path : all) {
    if (absl::EndsWith(path, absl::StrCat(".", name))) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

absl::Status SetField(pb::Message* message, absl::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", assignment, "\" is not FIELD=VALUE, e.g. train.steps=100"));
  }
  const absl::string_view name = absl::StripAsciiWhitespace(assignment.substr(0, equals));
  const absl::string_view value = absl::StripAsciiWhitespace(assignment.substr(equals + 1));
  const std::vector<std::string> path = absl::StrSplit(name, '.');
  // On a copy: a refused assignment changes nothing.
  std::unique_ptr<pb::Message> changed(message->New());
  changed->CopyFrom(*message);
  const absl::Status status = SetPath(changed.get(), path, value);
  if (!status.ok()) {
    const std::vector<std::string> meant = PathsEndingIn(*message, name);
    const std::string hint =
        path.size() > 1 || meant.empty()
            ? ""
            : absl::StrCat(". Did you mean ", absl::StrJoin(meant, " or "), "?");
    return absl::InvalidArgumentError(absl::StrCat(assignment, ": ", status.message(), hint));
  }
  message->GetReflection()->Swap(message, changed.get());
  return absl::OkStatus();
}

}  // namespace lra
