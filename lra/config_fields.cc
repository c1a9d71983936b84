// Checking, merging and listing the fields of any message (lra/config.h).
#include <google/protobuf/any.pb.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/options.pb.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using Leaf = std::pair<std::string, std::string>;

std::vector<const Field*> SetFieldsOf(const pb::Message& message) {
  std::vector<const Field*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// The messages in a field with their paths: every element of a repeated field, or the one message
// of a singular field.
std::vector<std::pair<std::string, const pb::Message*>> MessagesIn(const pb::Message& message,
                                                                   const Field* field,
                                                                   const std::string& path) {
  const pb::Reflection& r = *message.GetReflection();
  if (!field->is_repeated()) return {{path, &r.GetMessage(message, field)}};
  std::vector<std::pair<std::string, const pb::Message*>> elements;
  for (int i = 0; i < r.FieldSize(message, field); ++i) {
    const pb::Message& element = r.GetRepeatedMessage(message, field, i);
    const std::string name = field->is_map()
                                 ? ValueText(element, field->message_type()->map_key(), -1)
                                 : absl::StrCat(i);
    elements.emplace_back(absl::StrCat(path, "[", name, "]"), &element);
  }
  // Map entries have no defined order, so they are sorted.
  if (field->is_map()) std::sort(elements.begin(), elements.end());
  return elements;
}

absl::Status CheckRangesUnder(const pb::Message& message, const std::string& prefix) {
  for (const Field* field : SetFieldsOf(message)) {
    const std::string path = ChildPath(prefix, field->name());
    if (!IsMessageField(field)) {
      if (field->is_repeated()) continue;  // no option message has ranges on lists of numbers
      LRA_RETURN_IF_ERROR(CheckValue(message, field, path));
      continue;
    }
    for (const auto& [name, inner] : MessagesIn(message, field, path)) {
      if (!IsAnyField(field)) {
        LRA_RETURN_IF_ERROR(CheckRangesUnder(*inner, name));
        continue;
      }
      const std::unique_ptr<pb::Message> packed = UnpackAny(*inner);
      if (packed == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": does not hold a message of a known type"));
      }
      LRA_RETURN_IF_ERROR(CheckRangesUnder(*packed, name));
    }
  }
  return absl::OkStatus();
}

enum class Leaves { kAll, kCompared };

void AppendLeaves(const pb::Message& message, const std::string& prefix, Leaves which,
                  std::vector<Leaf>* leaves);

// The Any itself is a leaf whose value is its type name: options without fields still differ by
// type.
void AppendAny(const pb::Message& message, const std::string& path, Leaves which,
               std::vector<Leaf>* leaves) {
  const auto& any = static_cast<const pb::Any&>(message);
  const std::unique_ptr<pb::Message> packed = UnpackAny(message);
  if (packed == nullptr) {
    leaves->emplace_back(path, absl::StrCat(any.type_url(), " ", any.value()));
    return;
  }
  leaves->emplace_back(path, packed->GetTypeName());
  AppendLeaves(*packed, path, which, leaves);
}

bool HoldsLegacyValue(const pb::Message& message, const Field* field) {
  return field->options().HasExtension(legacy_value) &&
         ValueText(message, field, -1) == field->options().GetExtension(legacy_value);
}

void AppendLeaves(const pb::Message& message, const std::string& prefix, Leaves which,
                  std::vector<Leaf>* leaves) {
  for (const Field* field : SetFieldsOf(message)) {
    if (field->options().GetExtension(is_volatile)) continue;
    const std::string path = ChildPath(prefix, field->name());
    if (IsMessageField(field)) {
      for (const auto& [name, inner] : MessagesIn(message, field, path)) {
        (IsAnyField(field) ? AppendAny : AppendLeaves)(*inner, name, which, leaves);
      }
    } else if (field->is_repeated()) {
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        leaves->emplace_back(absl::StrCat(path, "[", i, "]"), ValueText(message, field, i));
      }
    } else if (which == Leaves::kAll || !HoldsLegacyValue(message, field)) {
      leaves->emplace_back(path, ValueText(message, field, -1));
    }
  }
}

// Whether every scalar of the message has a legacy value, and one at least: it is younger than
// records as a whole.
bool IsYoung(const pb::Descriptor* type) {
  int marked = 0;
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    if (IsAnyField(field)) continue;
    if (!field->options().HasExtension(legacy_value)) return false;
    ++marked;
  }
  return marked > 0;
}

bool FillField(pb::Message* message, const Field* field) {
  const pb::Reflection& r = *message->GetReflection();
  if (!IsMessageField(field)) {
    if (!field->options().HasExtension(legacy_value) || r.HasField(*message, field)) return false;
    const absl::Status status = SetField(
        message, absl::StrCat(field->name(), "=", field->options().GetExtension(legacy_value)));
    LRA_CHECK(status.ok() && HoldsLegacyValue(*message, field))
        << field->full_name()
        << ": a legacy value that it cannot hold, or not as it spells it: " << status;
    return true;
  }
  if (field->is_map()) return false;
  bool is_changed = false;
  if (field->is_repeated()) {
    for (int i = 0; i < r.FieldSize(*message, field); ++i)
      is_changed |= FillLegacyValues(r.MutableRepeatedMessage(message, field, i));
    return is_changed;
  }
  if (!r.HasField(*message, field) && !IsYoung(field->message_type())) return false;
  pb::Message* inner = r.MutableMessage(message, field);
  if (!IsAnyField(field)) return FillLegacyValues(inner);
  const std::unique_ptr<pb::Message> packed = UnpackAny(*inner);
  if (packed == nullptr || !FillLegacyValues(packed.get())) return false;
  PackAny(*packed, inner);
  return true;
}

void AppendUnset(const pb::Message& message, const std::string& prefix,
                 std::vector<std::string>* unset) {
  const pb::Reflection& r = *message.GetReflection();
  const pb::Descriptor* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    if (field->is_repeated()) continue;
    const std::string path = ChildPath(prefix, field->name());
    if (IsAnyField(field)) {
      const std::unique_ptr<pb::Message> packed = UnpackAny(r.GetMessage(message, field));
      packed == nullptr ? unset->push_back(path) : AppendUnset(*packed, path, unset);
    } else if (IsMessageField(field)) {
      AppendUnset(r.GetMessage(message, field), path, unset);
    } else if (field->has_presence() && !r.HasField(message, field)) {
      unset->push_back(path);
    }
  }
}

// Prepares for to->MergeFrom(*from), which would overwrite the bytes of an Any: where both hold an
// Any of the same type, moves what `to` holds under what `from` holds, and clears the Any in `to`.
void MergeAnys(pb::Message* from, pb::Message* to) {
  const pb::Reflection& r = *from->GetReflection();
  for (const Field* field : SetFieldsOf(*from)) {
    if (field->is_repeated() || !IsMessageField(field) || !r.HasField(*to, field)) continue;
    pb::Message* above = r.MutableMessage(from, field);
    pb::Message* below = r.MutableMessage(to, field);
    if (!IsAnyField(field)) {
      MergeAnys(above, below);
      continue;
    }
    const std::unique_ptr<pb::Message> upper = UnpackAny(*above), lower = UnpackAny(*below);
    if (upper != nullptr && lower != nullptr && upper->GetDescriptor() == lower->GetDescriptor()) {
      MergeConfig(*upper, lower.get());
      PackAny(*lower, above);
    }
    below->Clear();
  }
}

}  // namespace

absl::Status CheckRanges(const pb::Message& message, absl::string_view path) {
  return CheckRangesUnder(message, std::string(path));
}

void MergeConfig(const pb::Message& from, pb::Message* to) {
  std::unique_ptr<pb::Message> source(from.New());
  source->CopyFrom(from);
  MergeAnys(source.get(), to);
  to->MergeFrom(*source);
}

std::vector<Leaf> LeafFields(const pb::Message& message) {
  std::vector<Leaf> leaves;
  AppendLeaves(message, "", Leaves::kAll, &leaves);
  return leaves;
}

std::vector<Leaf> ComparedFields(const pb::Message& message) {
  std::vector<Leaf> leaves;
  AppendLeaves(message, "", Leaves::kCompared, &leaves);
  return leaves;
}

bool FillLegacyValues(pb::Message* message) {
  bool is_changed = false;
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i)
    is_changed |= FillField(message, message->GetDescriptor()->field(i));
  return is_changed;
}

std::vector<std::pair<std::string, std::string>> FillDefaultsBeside(pb::Message* message) {
  std::vector<std::pair<std::string, std::string>> filled;
  const pb::Descriptor* type = message->GetDescriptor();
  const pb::Reflection& r = *message->GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    if (!field->options().HasExtension(default_beside) || r.HasField(*message, field)) continue;
    const DefaultBeside& rule = field->options().GetExtension(default_beside);
    const Field* other = type->FindFieldByName(rule.field());
    LRA_CHECK(other != nullptr && other->enum_type() != nullptr) << field->full_name();
    if (!r.HasField(*message, other) || ValueText(*message, other, -1) != rule.value()) continue;
    const absl::Status status = SetField(message, absl::StrCat(field->name(), "=", rule.text()));
    LRA_CHECK(status.ok()) << field->full_name() << ": " << status;
    filled.emplace_back(field->name(), other->name());
  }
  return filled;
}

std::vector<std::string> UnsetFields(const pb::Message& message) {
  std::vector<std::string> unset;
  AppendUnset(message, "", &unset);
  return unset;
}

}  // namespace lra
