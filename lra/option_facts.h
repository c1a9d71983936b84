// The fields of an options message as a user sees them: the name for --set, the value, and what is
// allowed.
#ifndef LRA_OPTION_FACTS_H_
#define LRA_OPTION_FACTS_H_

#include <string>
#include <vector>

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

}  // namespace lra

#endif  // LRA_OPTION_FACTS_H_
