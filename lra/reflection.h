// Words for walking messages by reflection, shared by what sets, checks, merges and lists fields.
// For messages of generated types only: an Any must be a google::protobuf::Any.
#ifndef LRA_REFLECTION_H_
#define LRA_REFLECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lra {

// "a" + "b" = "a.b"; an empty path is the message itself.
std::string ChildPath(absl::string_view path, absl::string_view name);

bool IsMessageField(const google::protobuf::FieldDescriptor* field);
bool IsAnyField(const google::protobuf::FieldDescriptor* field);

std::vector<std::string> FieldNames(const google::protobuf::Descriptor* type);

// The message inside a google.protobuf.Any; null if the Any is empty, of an unknown type, or
// damaged.
std::unique_ptr<google::protobuf::Message> UnpackAny(const google::protobuf::Message& any);
void PackAny(const google::protobuf::Message& packed, google::protobuf::Message* any);

// Shortest decimal text that reads back as the same number: "0.0005", "1e-06", "100000000".
std::string ShortestText(float value);
std::string ShortestText(double value);

// A scalar as text: numbers shortest, enums by name, strings as they are. `index` is the element of
// a repeated field, -1 for a singular one.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index);

// Names of the values that mean something: 0 is "..._UNSPECIFIED" in every enum of ours.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor* type);

// InvalidArgument, starting with `path`, if a singular scalar is outside its (lra.range) or is no
// known enum value.
absl::Status CheckValue(const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor* field, absl::string_view path);

}  // namespace lra

#endif  // LRA_REFLECTION_H_
