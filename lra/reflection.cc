#include "lra/reflection.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/text_format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/options.pb.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

namespace {

// The value of a singular numeric field; nullopt for other types.
std::optional<double> NumericValue(const pb::Message& message, const Field* field) {
  const pb::Reflection& r = *message.GetReflection();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.GetInt32(message, field);
    case Field::CPPTYPE_INT64:
      return static_cast<double>(r.GetInt64(message, field));
    case Field::CPPTYPE_UINT32:
      return r.GetUInt32(message, field);
    case Field::CPPTYPE_UINT64:
      return static_cast<double>(r.GetUInt64(message, field));
    case Field::CPPTYPE_FLOAT:
      return r.GetFloat(message, field);
    case Field::CPPTYPE_DOUBLE:
      return r.GetDouble(message, field);
    default:
      return std::nullopt;
  }
}

template <class Number>
std::string ToShortest(Number value) {
  char text[40];
  char* const end = text + sizeof(text);
  // Integers are printed as such: 100000000, not 1e+08.
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    return std::string(text, std::to_chars(text, end, static_cast<int64_t>(value)).ptr);
  }
  return std::string(text, std::to_chars(text, end, value, std::chars_format::general).ptr);
}

// `depth` is that of `message` itself, from 1.
absl::Status CheckNestingUnder(const pb::Message& message, int depth) {
  if (depth > kMaxNesting) return TooDeeplyNested();
  if (message.GetDescriptor() == pb::Any::descriptor()) {
    const std::unique_ptr<pb::Message> packed = UnpackAny(message);
    return packed == nullptr ? absl::OkStatus() : CheckNestingUnder(*packed, depth + 1);
  }
  const pb::Reflection& r = *message.GetReflection();
  std::vector<const Field*> fields;
  r.ListFields(message, &fields);
  for (const Field* field : fields) {
    if (!IsMessageField(field)) continue;
    const int count = field->is_repeated() ? r.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const pb::Message& inner = field->is_repeated() ? r.GetRepeatedMessage(message, field, i)
                                                      : r.GetMessage(message, field);
      LRA_RETURN_IF_ERROR(CheckNestingUnder(inner, depth + 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TooDeeplyNested() {
  return absl::InvalidArgumentError(
      absl::StrCat("messages are nested more than ", kMaxNesting, " deep"));
}

absl::Status CheckNesting(const pb::Message& message, absl::string_view where) {
  return Annotate(CheckNestingUnder(message, 1), where);
}

std::string ShortestText(float value) { return ToShortest(value); }
std::string ShortestText(double value) { return ToShortest(value); }

std::string ChildPath(absl::string_view path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

bool IsMessageField(const Field* field) { return field->cpp_type() == Field::CPPTYPE_MESSAGE; }

bool IsAnyField(const Field* field) {
  return IsMessageField(field) && field->message_type() == pb::Any::descriptor();
}

std::vector<std::string> FieldNames(const pb::Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

std::unique_ptr<pb::Message> UnpackAny(const pb::Message& message) {
  const auto& any = static_cast<const pb::Any&>(message);
  std::string type_name;
  if (!pb::Any::ParseAnyTypeUrl(any.type_url(), &type_name)) return nullptr;
  const pb::Descriptor* type =
      pb::DescriptorPool::generated_pool()->FindMessageTypeByName(type_name);
  if (type == nullptr) return nullptr;
  std::unique_ptr<pb::Message> packed(
      pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
  return packed->ParseFromString(any.value()) ? std::move(packed) : nullptr;
}

void PackAny(const pb::Message& packed, pb::Message* any) {
  static_cast<pb::Any*>(any)->PackFrom(packed);
}

std::string ValueText(const pb::Message& message, const Field* field, int index) {
  const pb::Reflection& r = *message.GetReflection();
  std::string text;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_STRING:
      return index < 0 ? r.GetString(message, field) : r.GetRepeatedString(message, field, index);
    case Field::CPPTYPE_FLOAT:
      return ShortestText(index < 0 ? r.GetFloat(message, field)
                                    : r.GetRepeatedFloat(message, field, index));
    case Field::CPPTYPE_DOUBLE:
      return ShortestText(index < 0 ? r.GetDouble(message, field)
                                    : r.GetRepeatedDouble(message, field, index));
    default:
      pb::TextFormat::PrintFieldValueToString(message, field, index, &text);
      return text;
  }
}

std::vector<std::string> EnumNames(const pb::EnumDescriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() != 0) names.push_back(type->value(i)->name());
  }
  return names;
}

absl::Status CheckValue(const pb::Message& message, const Field* field, absl::string_view path) {
  if (field->cpp_type() == Field::CPPTYPE_ENUM && field->has_presence()) {
    const int number = message.GetReflection()->GetEnumValue(message, field);
    if (number != 0 && field->enum_type()->FindValueByNumber(number) != nullptr) {
      return absl::OkStatus();
    }
    return Annotate(
        UnknownNameError("value", ValueText(message, field, -1), EnumNames(field->enum_type())),
        path);
  }
  const std::optional<double> value = NumericValue(message, field);
  if (!value || !field->options().HasExtension(range)) return absl::OkStatus();
  const Range& valid = field->options().GetExtension(range);
  // A bound such as 1e-12 is not exact as a float, so a float field is compared with the rounded
  // bound.
  const bool is_float = field->cpp_type() == Field::CPPTYPE_FLOAT;
  const double min = is_float ? static_cast<float>(valid.min()) : valid.min();
  const double max = is_float ? static_cast<float>(valid.max()) : valid.max();
  if (*value >= min && *value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", ValueText(message, field, -1), " is out of range; valid is ",
                   ShortestText(valid.min()), " to ", ShortestText(valid.max())));
}

}  // namespace lra
