#include "models/base/cuda_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "models/base/cuda_graph.h"

namespace lra {
namespace {

constexpr char kLibrary[] = "liblra_cuda.so";

struct Library {
  void* handle = nullptr;
  std::string why_not;
};

// Beside the program, or in the lib/ beside the bin/ that holds it.
Library Load() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  Library library;
  for (const auto& folder : {program, program.parent_path() / "lib"}) {
    if (library.handle == nullptr)
      library.handle = dlopen((folder / kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library.handle == nullptr) {
    const char* const error = dlerror();
    library.why_not = error == nullptr ? "not found" : error;
    return library;
  }
  using Version = int();
  const auto version = reinterpret_cast<Version*>(dlsym(library.handle, "LraCudaVersion"));
  if (version != nullptr && version() == kCudaLibraryVersion) return library;
  library.handle = nullptr;
  library.why_not = absl::StrCat(kLibrary, " is of another lra");
  return library;
}

const Library& Loaded() {
  static const Library library = Load();
  return library;
}

}  // namespace

void* CudaFunction(const char* name) {
  return Loaded().handle == nullptr ? nullptr : dlsym(Loaded().handle, name);
}

std::string DescribeCudaLibrary() {
  return Loaded().handle == nullptr ? Loaded().why_not : kLibrary;
}

}  // namespace lra
