// Streams CIFAR-10 from its six files, either binary or Python pickles.
#ifndef LRA_TASKS_IMAGE_CIFAR_READER_H_
#define LRA_TASKS_IMAGE_CIFAR_READER_H_

#include <cstdint>
#include <memory>

#include "tasks/task.h"

namespace lra::image {

// The number of an image in its file, from the key that the reader gave it.
inline int64_t ImageNumber(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffu); }

// Files are found by name in any folder of the source: data_batch_1.bin ... test_batch.bin, or the
// same without ".bin" (pickles). The source is read to its end, so that a file that occurs twice
// (in a folder with both kinds) is always refused. RawExample.bytes is a binary record. The data is
// ordered by the files' numbers, whatever the order of the source. Split 0 is train, 1 is test.
// Memory: one record of a binary file, or one whole pickle of at most 64 MB, and up to three times
// that while it is parsed.
std::unique_ptr<RawReader> MakeCifarReader(std::unique_ptr<RawSource> source,
                                           int32_t images_per_file);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_CIFAR_READER_H_
