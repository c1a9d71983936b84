// A part of liblra_cuda.so, not of the program: compiled with LibTorch's CUDA headers, which tie it
// to one version of LibTorch.
#include "models/base/cuda_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <string>

namespace {

thread_local std::string error;

template <class Act>
const char* Catch(const Act& act) {
  try {
    act();
    return nullptr;
  } catch (const std::exception& caught) {
    error = caught.what();
  } catch (...) {
    error = "unknown";
  }
  return error.c_str();
}

at::cuda::CUDAGraph& GraphAt(void* graph) { return *static_cast<at::cuda::CUDAGraph*>(graph); }

}  // namespace

extern "C" {

int LraCudaVersion() { return lra::kCudaLibraryVersion; }

void* LraCurrentStream(int device) {
  return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}

const char* LraGraphNewPool(lra::CudaGraphPool* pool) {
  return Catch([&] {
    const auto [first, second] = at::cuda::graph_pool_handle();
    *pool = {{first, second}};
  });
}

const char* LraGraphBegin(const lra::CudaGraphPool* pool, void** graph) {
  *graph = nullptr;
  return Catch([&] {
    auto* const made = new at::cuda::CUDAGraph;
    *graph = made;
    // By thread: the loader's thread may pin memory meanwhile, and other runs may go on.
    made->capture_begin({pool->id[0], pool->id[1]}, cudaStreamCaptureModeThreadLocal);
  });
}

const char* LraGraphEnd(void* graph) {
  return Catch([&] { GraphAt(graph).capture_end(); });
}

const char* LraGraphReplay(void* graph) {
  return Catch([&] { GraphAt(graph).replay(); });
}

const char* LraGraphDelete(void* graph) {
  return Catch([&] { delete static_cast<at::cuda::CUDAGraph*>(graph); });
}

}  // extern "C"
