// Streams labelled reviews from the folders of aclImdb, or from tables train.csv and test.csv
// (.tsv).
#ifndef LRA_TASKS_TEXT_REVIEW_READER_H_
#define LRA_TASKS_TEXT_REVIEW_READER_H_

#include <cstddef>
#include <memory>

#include "tasks/task.h"

namespace lra::text {

// RawExample.bytes is a whole review and RawExample.label its label; split 0 is train, 1 is test.
// The data is ordered by id, negative before positive (folders), or by row (tables), whatever the
// order of the source. Memory: one review and about 60 bytes for each review, or one block and row
// of a table and about 16 bytes for each row.
std::unique_ptr<RawReader> MakeReviewReader(std::unique_ptr<RawSource> source,
                                            size_t max_review_bytes);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_REVIEW_READER_H_
