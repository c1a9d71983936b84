// The fields of a message as a user sees them: the name for --set, the value, and what is allowed.
#ifndef LRA_OPTION_FACTS_H_
#define LRA_OPTION_FACTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lra {

struct OptionFact {
  std::string name;
  std::string value;       // empty if unset
  std::string allowed;     // "0 to 1", "FIXED, LENGTH", "true, false", "" for any text
  bool is_length = false;  // (lra.is_length)
};

// Lists the singular scalar fields in the order of the message; only these can be set with --set.
std::vector<OptionFact> DescribeOptions(const google::protobuf::Message& options);

struct SettableField {
  std::string path;                  // "model.pooling"
  std::vector<std::string> choices;  // names of an enum's values, true and false; empty for others
};

// Lists the scalar fields of a message and of the messages inside it, in order, with `path` and a
// dot before each. What an Any holds is not known from the type: it is left out.
std::vector<SettableField> SettableFields(const google::protobuf::Descriptor* type,
                                          absl::string_view path = "");

}  // namespace lra

#endif  // LRA_OPTION_FACTS_H_
