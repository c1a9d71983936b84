// Streams the texts of a folder or archive in pieces.
#ifndef LRA_TASKS_BYTES_TEXT_FILES_H_
#define LRA_TASKS_BYTES_TEXT_FILES_H_

#include <memory>

#include "tasks/bytes/bytes.pb.h"
#include "tasks/task.h"

namespace lra::bytes {

// The files *.txt below a folder train/ (split 0) or test/ (split 1), wherever these lie in the
// source; others are passed over. Of a source with neither folder all files *.txt, split as
// TrainPieces() in tasks/bytes/held_out.h says. RawExample.bytes is a piece. The data is ordered by
// path and place, whatever the order of the source. NotFound where a split has no text; DataLoss
// for a file that is too long. Memory: one file and the paths of all.
std::unique_ptr<RawReader> MakeTextFilesReader(std::unique_ptr<RawSource> source,
                                               const BytesOptions& options);

}  // namespace lra::bytes

#endif  // LRA_TASKS_BYTES_TEXT_FILES_H_
