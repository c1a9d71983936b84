// SetField of lra/config.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "lra/config.h"
#include "lra/options.pb.h"
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

// The place that a value is written to: a singular field, or one more element of a list.
class Slot {
 public:
  Slot(pb::Message* message, const Field* field)
      : message_(*message), field_(field), r_(*message->GetReflection()) {}

  void Put(int32_t v) const {
    Is() ? r_.AddInt32(&message_, field_, v) : r_.SetInt32(&message_, field_, v);
  }
  void Put(int64_t v) const {
    Is() ? r_.AddInt64(&message_, field_, v) : r_.SetInt64(&message_, field_, v);
  }
  void Put(uint32_t v) const {
    Is() ? r_.AddUInt32(&message_, field_, v) : r_.SetUInt32(&message_, field_, v);
  }
  void Put(uint64_t v) const {
    Is() ? r_.AddUInt64(&message_, field_, v) : r_.SetUInt64(&message_, field_, v);
  }
  void Put(float v) const {
    Is() ? r_.AddFloat(&message_, field_, v) : r_.SetFloat(&message_, field_, v);
  }
  void Put(double v) const {
    Is() ? r_.AddDouble(&message_, field_, v) : r_.SetDouble(&message_, field_, v);
  }
  void Put(bool v) const {
    Is() ? r_.AddBool(&message_, field_, v) : r_.SetBool(&message_, field_, v);
  }
  void Put(std::string v) const {
    Is() ? r_.AddString(&message_, field_, std::move(v))
         : r_.SetString(&message_, field_, std::move(v));
  }
  void Put(const pb::EnumValueDescriptor* v) const {
    Is() ? r_.AddEnum(&message_, field_, v) : r_.SetEnum(&message_, field_, v);
  }
  const Field* field() const { return field_; }

 private:
  bool Is() const { return field_->is_repeated(); }
  pb::Message& message_;
  const Field* field_;
  const pb::Reflection& r_;
};

// " from 1 to 128", as the field's (lra.range) says; empty without one.
std::string OwnRange(const Field* field) {
  if (!field->options().HasExtension(range)) return "";
  const Range& valid = field->options().GetExtension(range);
  return absl::StrCat(" from ", ShortestText(valid.min()), " to ", ShortestText(valid.max()));
}

template <class Int>
absl::Status PutInt(const Slot& slot, absl::string_view value) {
  Int number;
  if (!absl::SimpleAtoi(value, &number)) {
    std::string bounds = OwnRange(slot.field());
    if (bounds.empty()) {
      bounds = absl::StrCat(" from ", std::numeric_limits<Int>::min(), " to ",
                            std::numeric_limits<Int>::max());
    }
    return WrongType(value, absl::StrCat("a whole number", bounds));
  }
  slot.Put(number);
  return absl::OkStatus();
}

template <class Number>
absl::Status PutNumber(const Slot& slot, absl::string_view value,
                       bool (*parse)(absl::string_view, Number*)) {
  Number number;
  if (!parse(value, &number) || !std::isfinite(number))
    return WrongType(value, absl::StrCat("a finite number", OwnRange(slot.field())));
  slot.Put(number);
  return absl::OkStatus();
}

absl::Status PutEnum(const Slot& slot, absl::string_view value) {
  const std::string name = absl::AsciiStrToUpper(value);
  const pb::EnumDescriptor* type = slot.field()->enum_type();
  const pb::EnumValueDescriptor* found = type->FindValueByName(name);
  if (found == nullptr || found->number() == 0) {
    return UnknownNameError("value", name, EnumNames(type));
  }
  slot.Put(found);
  return absl::OkStatus();
}

absl::Status PutScalar(const Slot& slot, absl::string_view value) {
  bool flag;
  switch (slot.field()->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return PutInt<int32_t>(slot, value);
    case Field::CPPTYPE_INT64:
      return PutInt<int64_t>(slot, value);
    case Field::CPPTYPE_UINT32:
      return PutInt<uint32_t>(slot, value);
    case Field::CPPTYPE_UINT64:
      return PutInt<uint64_t>(slot, value);
    case Field::CPPTYPE_FLOAT:
      return PutNumber<float>(slot, value, &absl::SimpleAtof);
    case Field::CPPTYPE_DOUBLE:
      return PutNumber<double>(slot, value, &absl::SimpleAtod);
    case Field::CPPTYPE_BOOL:
      if (!absl::SimpleAtob(value, &flag)) return WrongType(value, "true or false");
      slot.Put(flag);
      return absl::OkStatus();
    case Field::CPPTYPE_ENUM:
      return PutEnum(slot, value);
    default:
      slot.Put(std::string(value));
      return absl::OkStatus();
  }
}

// "a,b,c" replaces the whole list, and nothing empties it.
absl::Status SetList(pb::Message* message, const Field* field, absl::string_view values) {
  message->GetReflection()->ClearField(message, field);
  if (values.empty()) return absl::OkStatus();
  for (absl::string_view value : absl::StrSplit(values, ',')) {
    value = absl::StripAsciiWhitespace(value);
    if (value.empty() && field->cpp_type() == Field::CPPTYPE_STRING)
      return WrongType(value, "an element of a list; nothing at all empties it");
    LRA_RETURN_IF_ERROR(PutScalar(Slot(message, field), value));
  }
  return absl::OkStatus();
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

// If an error is returned, the message may be half changed.
absl::Status SetPath(pb::Message* message, Path path, absl::string_view value) {
  const Field* field = message->GetDescriptor()->FindFieldByName(path[0]);
  if (field == nullptr) {
    return UnknownNameError("field", path[0], FieldNames(message->GetDescriptor()));
  }
  if (field->is_repeated() && IsMessageField(field)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", path[0], "\" is a ",
                                                   field->is_map() ? "map" : "list of groups",
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
  if (field->is_repeated()) return SetList(message, field, value);
  LRA_RETURN_IF_ERROR(PutScalar(Slot(message, field), value));
  return CheckValue(*message, field, path[0]);
}

std::vector<std::string> AllPaths(const pb::Message& message) {
  std::vector<std::string> all = UnsetFields(message);
  for (const auto& [path, value] : LeafFields(message)) all.push_back(path);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> PathsEndingIn(const std::vector<std::string>& all,
                                       absl::string_view name) {
  std::vector<std::string> found;
  for (const std::string& path : all) {
    if (absl::EndsWith(path, absl::StrCat(".", name))) found.push_back(path);
  }
  return found;
}

// Full paths that end in `name`, to suggest when the group is missing, as in `--set
// learning_rate=1`; where there is none, and no group has nearly that name, those that end in the
// nearest one. A name of few letters would be near to any.
std::vector<std::string> MeantPaths(const pb::Message& message, absl::string_view name) {
  const std::vector<std::string> all = AllPaths(message), found = PathsEndingIn(all, name);
  const std::vector<std::string> groups = FieldNames(message.GetDescriptor());
  if (!found.empty() || name.size() < 4 || !Nearest(name, groups).empty()) return found;
  std::vector<std::string> ends;
  for (const std::string& path : all) ends.push_back(path.substr(path.rfind('.') + 1));
  const std::string nearest = Nearest(name, ends);
  return nearest.empty() ? found : PathsEndingIn(all, nearest);
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
  // Works on a copy, so that a refused assignment changes nothing.
  std::unique_ptr<pb::Message> changed(message->New());
  changed->CopyFrom(*message);
  const absl::Status status = SetPath(changed.get(), path, value);
  if (!status.ok()) {
    const std::vector<std::string> meant = MeantPaths(*message, name);
    const std::string hint =
        path.size() > 1 || meant.empty()
            ? ""
            : absl::StrCat(". Did you mean ", absl::StrJoin(meant, " or "), "?");
    return absl::InvalidArgumentError(absl::StrCat(assignment, ": ", status.message(), hint));
  }
  message->GetReflection()->Swap(message, changed.get());
  return absl::OkStatus();
}

absl::StatusOr<pb::Any> SetOptions(absl::string_view kind, absl::string_view name,
                                   const pb::Any& options, const std::vector<std::string>& sets) {
  if (sets.empty()) return options;
  const std::unique_ptr<pb::Message> message = UnpackAny(options);
  if (message == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", sets.front(), ": ", kind, " \"", name, "\" has no options"));
  }
  const std::string prefix = absl::StrCat(kind, ".options.");
  for (const std::string& set : sets)
    LRA_RETURN_IF_ERROR(SetField(message.get(), absl::StripPrefix(set, prefix)));
  pb::Any changed;
  PackAny(*message, &changed);
  return changed;
}

}  // namespace lra
