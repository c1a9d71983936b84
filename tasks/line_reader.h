// Raw data with one example on each line: reads the named files of a folder or archive in the order
// in which they come.
#ifndef LRA_TASKS_LINE_READER_H_
#define LRA_TASKS_LINE_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace lra {

// A longer line is an error, which bounds the memory of a reader. (The longest line of the official
// data, a pair of papers of the Retrieval task, has well under 1 MB.)
inline constexpr size_t kMaxLineBytes = size_t{4} << 20;

struct LineFiles {
  // The name of each split's file; it is found in any folder of the source.
  std::vector<std::string> names;
  // The required first line of each file; empty = files have no header.
  std::string header;
};

// Lines end with LF or CR LF, which are removed. The last line must have an end too; without one,
// the file was cut off. Reading stops when every file was read, so the rest of a large archive is
// not touched. NotFound for a missing file; DataLoss with file and line for everything that is
// wrong inside one.
std::unique_ptr<RawReader> MakeLineReader(std::unique_ptr<RawSource> source, LineFiles files);

}  // namespace lra

#endif  // LRA_TASKS_LINE_READER_H_
