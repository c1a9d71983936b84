// Files for targets whose readers take paths. They are written without a flush to the disk, in
// memory where the machine has such a file system.
#ifndef LRA_TESTS_FUZZ_FUZZ_FOLDER_H_
#define LRA_TESTS_FUZZ_FUZZ_FOLDER_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/sha256.h"

namespace lra {

// A folder of this process for one target; removed at its end.
class FuzzFolder {
 public:
  explicit FuzzFolder(absl::string_view target) {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code failed;
    const auto base =
        access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path(failed);
    path_ = (base / absl::StrCat("lra-fuzz-", target, "-", getpid())).string();
    std::filesystem::create_directories(path_, failed);
    LRA_CHECK(!failed) << path_;
  }
  ~FuzzFolder() { RemoveAll(path_).IgnoreError(); }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  const std::string& path() const { return path_; }
  // Writes the file and returns its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const {
    const std::string file = JoinPath(path_, name);
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    stream.close();
    LRA_CHECK(stream.good()) << file;
    return file;
  }
  // The same with the seal of WriteSealedTextProto, which no fuzzer finds by itself.
  std::string WriteSealed(absl::string_view name, absl::string_view text) const {
    std::string body(text);
    if (body.empty() || body.back() != '\n') body += '\n';
    return Write(name, absl::StrCat(body, "# sha256: ", Sha256Hex(body), "\n"));
  }

 private:
  std::string path_;
};

}  // namespace lra

#endif  // LRA_TESTS_FUZZ_FUZZ_FOLDER_H_
