// Helpers that walk messages by reflection, used to set, check, merge and list fields. They work on
// generated types only: an Any must be a google::protobuf::Any.
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

// Joins "a" and "b" to "a.b"; an empty path is the message itself.
std::string ChildPath(absl::string_view path, absl::string_view name);

bool IsMessageField(const google::protobuf::FieldDescriptor* field);
bool IsAnyField(const google::protobuf::FieldDescriptor* field);

std::vector<std::string> FieldNames(const google::protobuf::Descriptor* type);

// The message inside a google.protobuf.Any; null if the Any is empty, of an unknown type, or
// damaged.
std::unique_ptr<google::protobuf::Message> UnpackAny(const google::protobuf::Message& any);
// How deep messages may be nested, those inside of Any included. Walks by reflection call
// themselves for each level; what the project's own messages need is less than 10.
inline constexpr int kMaxNesting = 50;
absl::Status TooDeeplyNested();
// InvalidArgument, starting with `where`, if messages are nested deeper than that. Whatever is
// parsed from a file must pass before anything else walks it.
absl::Status CheckNesting(const google::protobuf::Message& message, absl::string_view where);

void PackAny(const google::protobuf::Message& packed, google::protobuf::Message* any);

// Shortest decimal text that reads back as the same number: "0.0005", "1e-06", "100000000".
std::string ShortestText(float value);
std::string ShortestText(double value);

// A scalar as text: the shortest form of a number, the name of an enum value, a string as it is.
// `index` is the element of a repeated field, or -1 for a singular field.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index);

// Names of all enum values but 0, which is "..._UNSPECIFIED" in every enum of this project.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor* type);

// Returns InvalidArgument, starting with `path`, if a singular scalar is outside its (lra.range) or
// is not a known enum value.
absl::Status CheckValue(const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor* field, absl::string_view path);

}  // namespace lra

#endif  // LRA_REFLECTION_H_
