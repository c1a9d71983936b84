// A line of a .jsonl file: one JSON object.
#ifndef LRA_TASKS_JSON_LINE_H_
#define LRA_TASKS_JSON_LINE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// `where` begins the message: "reviews.jsonl: line 17". DataLoss, with the column in bytes, for a
// line that is no object, is not UTF-8, has half of a surrogate pair, or is longer than
// kMaxFieldBytes.
absl::Status ParseJsonLine(absl::string_view where, absl::string_view line, nlohmann::json* object);

}  // namespace lra

#endif  // LRA_TASKS_JSON_LINE_H_
