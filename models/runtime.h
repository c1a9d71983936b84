// Threads and memory of the process, set once at the start of a program that computes.
#ifndef LRA_MODELS_RUNTIME_H_
#define LRA_MODELS_RUNTIME_H_

namespace lra {

// LibTorch gets `threads` threads (0 = all cores) for one operation; freed memory is kept for the
// next step instead of being given back to the system and asked for again.
void StartRuntime(int threads);

}  // namespace lra

#endif  // LRA_MODELS_RUNTIME_H_
