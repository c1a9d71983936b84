// Compressors as baselines where the next token is guessed: what an example takes when it is packed
// is a code length, in the same unit as a model's.
#ifndef LRA_TASKS_SIZE_BASELINE_H_
#define LRA_TASKS_SIZE_BASELINE_H_

#include <memory>

#include "tasks/baseline_method.h"

namespace lra {

// `gzip`: the bytes of deflate at its highest level, without a header, where the last 32,768 tokens
// of the training split and what is given of the example stand before it as a dictionary. Of up to
// 256 ids beside padding's (WhyNot).
std::unique_ptr<BaselineMethod> MakeGzipBaseline();

// `png`: the whole file, of pictures of up to 256 values (WhyNot). A part that is given is packed
// as well, since a file has no use for it.
std::unique_ptr<BaselineMethod> MakePngBaseline();

}  // namespace lra

#endif  // LRA_TASKS_SIZE_BASELINE_H_
