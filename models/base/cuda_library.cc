#include "models/base/cuda_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "models/base/cuda_graph.h"

namespace lra {
namespace {

constexpr char kLibrary[] = "liblra_cuda.so";

using internal::Library;

// Beside the program, or in the lib/ beside the bin/ that holds it.
Library Load() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  Library library;
  for (const auto& folder : {program, program.parent_path() / "lib"}) {
    if (library.handle == nullptr) library.Try(folder / kLibrary);
  }
  if (library.handle == nullptr) return library;
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

void internal::Library::Try(const std::string& path) {
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr || has_file) return;
  const char* const error = dlerror();
  std::error_code failed;
  has_file = std::filesystem::exists(path, failed);
  if (has_file || why_not.empty()) why_not = error == nullptr ? "not found" : error;
}

void* CudaFunction(const char* name) {
  return Loaded().handle == nullptr ? nullptr : dlsym(Loaded().handle, name);
}

std::string DescribeCudaLibrary() {
  return Loaded().handle == nullptr ? Loaded().why_not : kLibrary;
}

}  // namespace lra
