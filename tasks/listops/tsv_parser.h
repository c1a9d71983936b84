// Parses a line of the official ListOps files: Source TAB Target.
#ifndef LRA_TASKS_LISTOPS_TSV_PARSER_H_
#define LRA_TASKS_LISTOPS_TSV_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"

namespace lra::listops {

inline constexpr absl::string_view kTsvHeader = "Source\tTarget";

// Source is the tree as nested pairs, with one blank between words. A digit is itself. An operator
// with k arguments is k + 1 times "(", then "[OP", then each argument followed by ")", then "] )".
// The round brackets must be exactly these and are dropped. Target is a digit. InvalidArgument
// names the column of the line, counted in bytes from 1, and what was found there.
absl::StatusOr<EncodedExample> ParseTsvLine(absl::string_view line);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_TSV_PARSER_H_
