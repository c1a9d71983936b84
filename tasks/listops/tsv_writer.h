// Writes ListOps in the form of the official files, the inverse of tasks/listops/tsv_parser.h.
#ifndef LRA_TASKS_LISTOPS_TSV_WRITER_H_
#define LRA_TASKS_LISTOPS_TSV_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "tasks/task.h"

namespace lra::listops {

// "Source TAB Target" without a line end. InvalidArgument if the tokens are not a tree.
absl::StatusOr<std::string> FormatTsvLine(const EncodedExample& example);

// Writes basic_{train,val,test}.tsv with a few of the task's own examples each; returns how many.
absl::StatusOr<std::vector<int64_t>> WriteSampleFiles(const Task& task, absl::string_view folder,
                                                      uint32_t seed);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_TSV_WRITER_H_
