#include "tasks/raw_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 16;

}  // namespace

absl::StatusOr<std::string> ReadWholeEntry(RawSource* source, const RawEntry& entry,
                                           size_t max_bytes) {
  std::string bytes;
  while (true) {
    const size_t held = bytes.size();
    bytes.resize(held + kBlockBytes);
    const absl::StatusOr<size_t> count = source->Read(bytes.data() + held, kBlockBytes);
    LRA_RETURN_IF_ERROR(count.status());
    bytes.resize(held + *count);
    if (*count == 0) return bytes;
    if (bytes.size() > max_bytes) {
      return absl::DataLossError(
          absl::StrCat(entry.name, ": the file is longer than ", max_bytes, " bytes"));
    }
  }
}

void FileSet::Add(uint64_t key, absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes.data(), bytes.size());
  files_.emplace_back(key, hash.Finish());
  size_bytes_ += static_cast<int64_t>(bytes.size());
}

ManifestSource FileSet::Source(absl::string_view name) const {
  auto files = files_;
  std::sort(files.begin(), files.end());
  Sha256 hash;
  for (const auto& [key, digest] : files) hash.Update(digest.data(), digest.size());
  ManifestSource source;
  source.set_name(std::string(name));
  source.set_size_bytes(size_bytes_);
  source.set_sha256(ToHex(hash.Finish()));
  return source;
}

absl::Status WriteSampleFile(absl::string_view folder, absl::string_view name,
                             absl::string_view bytes) {
  const std::string path = JoinPath(folder, name);
  LRA_RETURN_IF_ERROR(MakeDirectories(path.substr(0, path.rfind('/'))));
  return WriteFileAtomically(path, bytes);
}

}  // namespace lra
