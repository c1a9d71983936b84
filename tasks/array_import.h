// `lra data import` of NumPy's arrays: sequences of ids, or square pictures, with labels.
#ifndef LRA_TASKS_ARRAY_IMPORT_H_
#define LRA_TASKS_ARRAY_IMPORT_H_

#include "absl/status/statusor.h"
#include "tasks/own_import.h"

namespace lra {

// Whether the files of `options` are .npz files, all of them or none. InvalidArgument for a mixture
// and the errors of SplitFilesOf.
absl::StatusOr<bool> AreArrays(const ImportOptions& options);

// Writes a folder with the data and its rules, whole or not at all. Each file is an .npz with
// integer arrays of n examples:
//   labels   [n]     0 .. C-1
//   tokens   [n, N]  ids 1 .. V-1, 0 behind the end of a sequence; or, with offsets [n + 1], ids
//                    [T] of all sequences one after the other: tokens[offsets[i]:offsets[i+1]]
//   images   [n, side, side] or, in colour, [n, side, side, 3], uint8, in the place of tokens
// C and V are the largest of all files and one more. Memory: all files, unpacked, each of at
// most 8 GiB, and up to as much as one again. InvalidArgument
// for names, flags, missing arrays and their types and shapes, and where no example would validate;
// NotFound for missing files; AlreadyExists for a folder that holds something; DataLoss names file
// and example of a wrong value.
absl::StatusOr<ImportedData> ImportArrays(const ImportOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_ARRAY_IMPORT_H_
