// Raw data of one example a line: the named files of a folder or archive, streamed in the order in
// which they come.
#ifndef LRA_TASKS_LINE_READER_H_
#define LRA_TASKS_LINE_READER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace lra {

// A longer line is an error: it bounds what a reader holds in memory. (The longest line of the
// official data, a pair of papers of the Retrieval task, has well under 1 MB.)
inline constexpr size_t kMaxLineBytes = size_t{4} << 20;

struct LineFiles {
  // By split number, the file's name; it is found in any folder of the source, by its whole name.
  std::vector<std::string> names;
  // What the first line must be; empty = the files have no header.
  std::string header;
};

// Lines end with LF or CR LF, the last one too (otherwise the file was cut off); both are taken
// off. Reading stops when every file was read: the rest of a large archive is left alone. Errors:
// NotFound for a file that is missing, DataLoss with file and line for everything that is wrong
// inside one.
std::unique_ptr<RawReader> MakeLineReader(std::unique_ptr<RawSource> source, LineFiles files);

}  // namespace lra

#endif  // LRA_TASKS_LINE_READER_H_
