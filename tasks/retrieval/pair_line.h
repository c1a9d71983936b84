// A line of the Retrieval task's files, new_aan_pairs.{train,eval,test}.tsv
// (google-research/long-range-arena, matching): label, two ids, two texts.
#ifndef LRA_TASKS_RETRIEVAL_PAIR_LINE_H_
#define LRA_TASKS_RETRIEVAL_PAIR_LINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra::retrieval {

// The fields refer to the line.
struct PairLine {
  int32_t label = 0;  // 1: one of the two papers cites the other
  absl::string_view id1, id2;
  absl::string_view text1, text2;  // bytes as they stand in the file, even NUL and invalid UTF-8
};

// Parses a `line` without its end. It must have exactly five columns with one tab between them and
// no quoting; the label is 0 or 1, also written as a float ("1.0"); no column is empty.
// InvalidArgument names the column, the byte of the line at which it begins (both counted from 1)
// and its value. Allocates only for the message, under 300 bytes.
absl::StatusOr<PairLine> ParsePairLine(absl::string_view line);

}  // namespace lra::retrieval

#endif  // LRA_TASKS_RETRIEVAL_PAIR_LINE_H_
