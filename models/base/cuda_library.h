// The library of our own CUDA code, liblra_cuda.so, which is built with -DLRA_CUDA=ON and lies
// beside the program. It is loaded at its first use, after LibTorch's CUDA library.
#ifndef LRA_MODELS_BASE_CUDA_LIBRARY_H_
#define LRA_MODELS_BASE_CUDA_LIBRARY_H_

#include <string>

namespace lra {

// The function of this C name, or nullptr where the library or the function is not there.
void* CudaFunction(const char* name);

// "liblra_cuda.so", or why it is not used.
std::string DescribeCudaLibrary();

namespace internal {

// A library that may be in one of several places.
struct Library {
  void* handle = nullptr;  // dlopen()'s
  // Why there is none: the first error of a file that is there, or else that of the first place.
  std::string why_not;
  bool has_file = false;

  void Try(const std::string& path);
};

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_BASE_CUDA_LIBRARY_H_
