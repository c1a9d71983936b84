#include "lra/option_facts.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/options.pb.h"
#include "lra/reflection.h"

namespace lra {
namespace {

using Field = google::protobuf::FieldDescriptor;

template <class Int>
std::string Limits() {
  return absl::StrCat("whole, ", std::numeric_limits<Int>::min(), " to ",
                      std::numeric_limits<Int>::max());
}

std::string Allowed(const Field* field) {
  if (field->options().HasExtension(range)) {
    const Range& bounds = field->options().GetExtension(range);
    const bool is_real =
        field->cpp_type() == Field::CPPTYPE_FLOAT || field->cpp_type() == Field::CPPTYPE_DOUBLE;
    return absl::StrCat(is_real ? "" : "whole, ", ShortestText(bounds.min()), " to ",
                        ShortestText(bounds.max()));
  }
  switch (field->cpp_type()) {
    case Field::CPPTYPE_ENUM:
      return absl::StrJoin(EnumNames(field->enum_type()), ", ");
    case Field::CPPTYPE_BOOL:
      return "true, false";
    case Field::CPPTYPE_INT32:
      return Limits<int32_t>();
    case Field::CPPTYPE_UINT32:
      return Limits<uint32_t>();
    case Field::CPPTYPE_INT64:
      return Limits<int64_t>();
    case Field::CPPTYPE_UINT64:
      return Limits<uint64_t>();
    case Field::CPPTYPE_FLOAT:
    case Field::CPPTYPE_DOUBLE:
      return "a number";
    default:
      return "";
  }
}

}  // namespace

std::vector<OptionFact> DescribeOptions(const google::protobuf::Message& options) {
  std::vector<OptionFact> facts;
  for (int i = 0; i < options.GetDescriptor()->field_count(); ++i) {
    const Field* field = options.GetDescriptor()->field(i);
    if (field->is_repeated() || IsMessageField(field)) continue;
    const bool is_set = options.GetReflection()->HasField(options, field);
    facts.push_back({field->name(), is_set ? ValueText(options, field, -1) : "", Allowed(field),
                     field->options().GetExtension(is_length)});
  }
  return facts;
}

std::vector<SettableField> SettableFields(const google::protobuf::Descriptor* type,
                                          absl::string_view path) {
  std::vector<SettableField> fields;
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    const std::string name = ChildPath(path, field->name());
    if (IsAnyField(field)) continue;
    if (IsMessageField(field)) {
      if (field->is_repeated()) continue;
      for (SettableField& inner : SettableFields(field->message_type(), name))
        fields.push_back(std::move(inner));
      continue;
    }
    SettableField& added = fields.emplace_back(SettableField{name, {}});
    if (field->cpp_type() == Field::CPPTYPE_ENUM) added.choices = EnumNames(field->enum_type());
    if (field->cpp_type() == Field::CPPTYPE_BOOL) added.choices = {"true", "false"};
  }
  return fields;
}

}  // namespace lra
