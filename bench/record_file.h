// Files of measured cells: a BenchRecord on each line, in JSON. Lines are appended and flushed one
// by one, so that what an interrupted grid has measured stays.
#ifndef LRA_BENCH_RECORD_FILE_H_
#define LRA_BENCH_RECORD_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/bench.pb.h"

namespace lra {

// Every line of the file. A last line without its end is what a killed process left behind, and is
// not a record. NotFound where there is no file; InvalidArgument names file and line, also for a
// measured cell without tokens, without a width of its heads or without passes of a positive time.
absl::StatusOr<std::vector<BenchRecord>> ReadRecordFile(const std::string& path);

// The records of several files, in order.
absl::StatusOr<std::vector<BenchRecord>> ReadRecordFiles(const std::vector<std::string>& paths);

// Appends a line to the file, which is made where there is none; a last line without its end is
// cut off first.
absl::Status AppendRecord(const std::string& path, const BenchRecord& record);

// What makes two cells the same measurement: request, regime and the machine that answers it.
std::string KeyOf(const BenchRecord& record);

}  // namespace lra

#endif  // LRA_BENCH_RECORD_FILE_H_
