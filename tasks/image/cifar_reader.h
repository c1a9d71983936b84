// Streams CIFAR-10 from its six files, binary or Python pickles.
#ifndef LRA_TASKS_IMAGE_CIFAR_READER_H_
#define LRA_TASKS_IMAGE_CIFAR_READER_H_

#include <cstdint>
#include <memory>

#include "tasks/task.h"

namespace lra::image {

// The number in its file of the image that a key of the reader names.
inline int64_t ImageNumber(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffu); }

// Files are found by name in any folder of the source: data_batch_1.bin ... test_batch.bin, or the
// same without ".bin" (pickles). The source is read to its end, so that a file that is there twice
// (a folder of both kinds) is refused wherever it stands. RawExample.bytes is a binary record; the
// data is ordered as the files are numbered, however the source orders them. Split 0 is train, 1 is
// test. Holds one record of a binary file, or one whole pickle: at most 64 MB, and while it is read
// up to three times that.
std::unique_ptr<RawReader> MakeCifarReader(std::unique_ptr<RawSource> source,
                                           int32_t images_per_file);

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_CIFAR_READER_H_
