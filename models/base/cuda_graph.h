// The C interface to LibTorch's CUDA graphs that liblra_cuda.so brings (models/base/cuda_graph.cc):
// the program links no CUDA. Functions return nullptr, or what went wrong, valid until the thread's
// next call.
#ifndef LRA_MODELS_BASE_CUDA_GRAPH_H_
#define LRA_MODELS_BASE_CUDA_GRAPH_H_

#include <cstdint>

#include "models/base/cuda_library_version.h"  // IWYU pragma: export

namespace lra {

// A pool of memory that graphs share, as LibTorch names it.
struct CudaGraphPool {
  uint64_t id[2];
};

using CudaVersionFunction = int();                             // LraCudaVersion
using CudaNewPoolFunction = const char*(CudaGraphPool* pool);  // LraGraphNewPool
// Begins a capture on the current device and the calling thread's stream. *graph is the caller's to
// delete, also after an error.
using CudaBeginFunction = const char*(const CudaGraphPool* pool, void** graph);  // LraGraphBegin
using CudaGraphFunction = const char*(void* graph);  // LraGraphEnd, LraGraphReplay, LraGraphDelete
// The cudaStream_t on which LibTorch launches for the calling thread: LraCurrentStream.
using CudaStreamFunction = void*(int device);

}  // namespace lra

#endif  // LRA_MODELS_BASE_CUDA_GRAPH_H_
