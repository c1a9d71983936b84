// While it lives, LibTorch uses one thread: the suites' cases are small, and threads would cost
// more than they save. (M5 compares numbers of threads.)
#ifndef LRA_MODELS_CONFORMANCE_ONE_THREAD_H_
#define LRA_MODELS_CONFORMANCE_ONE_THREAD_H_

#include <ATen/Parallel.h>

namespace lra::internal {

class OneThread {
 public:
  OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(threads_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int threads_;
};

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_ONE_THREAD_H_
