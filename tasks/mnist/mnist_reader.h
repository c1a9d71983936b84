// Streams MNIST from its four files, compressed or not.
#ifndef LRA_TASKS_MNIST_MNIST_READER_H_
#define LRA_TASKS_MNIST_MNIST_READER_H_

#include <memory>

#include "tasks/mnist/mnist.pb.h"
#include "tasks/task.h"

namespace lra::mnist {

inline constexpr uint32_t kSide = 28;
inline constexpr uint32_t kImageBytes = kSide * kSide;
inline constexpr int32_t kClasses = 10;

// Files are found by name in any folder of the source, {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, with or without .gz. RawExample.bytes is an image; its label
// comes with RawReader::Order. Split 0 is train, 1 is test; images keep their order. The source is
// read to its end. NotFound for a missing file, DataLoss for one that is twice there, damaged, or
// of other sizes. Memory: a file, unpacked 47 MB.
std::unique_ptr<RawReader> MakeMnistReader(std::unique_ptr<RawSource> source,
                                           const MnistOptions& options);

}  // namespace lra::mnist

#endif  // LRA_TASKS_MNIST_MNIST_READER_H_
