// Streams labelled reviews: the tree of aclImdb, or tables train.csv and test.csv (.tsv).
#ifndef LRA_TASKS_TEXT_REVIEW_READER_H_
#define LRA_TASKS_TEXT_REVIEW_READER_H_

#include <cstddef>
#include <memory>

#include "tasks/task.h"

namespace lra::text {

// RawExample.bytes is a whole review and RawExample.label its label; split 0 is train, 1 is test.
// The data is ordered by id, negative before positive (trees), or by row (tables), however the
// source orders its files. Holds one review and about 60 bytes of every review, or one block and
// row of a table and about 16 bytes of every row.
std::unique_ptr<RawReader> MakeReviewReader(std::unique_ptr<RawSource> source,
                                            size_t max_review_bytes);

}  // namespace lra::text

#endif  // LRA_TASKS_TEXT_REVIEW_READER_H_
