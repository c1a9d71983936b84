#include "tasks/raw_files.h"

#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datasets/code_points.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;

}  // namespace

absl::StatusOr<std::string> ReadWholeEntry(RawSource* source, const RawEntry& entry,
                                           size_t max_bytes) {
  // The bytes are not read into the string itself: thousands of small files wait in memory
  // together, and none of them should keep a whole block.
  const auto block = std::make_unique_for_overwrite<char[]>(kReadBytes);
  std::string bytes;
  while (true) {
    LRA_ASSIGN_OR_RETURN(const size_t count, source->Read(block.get(), kReadBytes));
    if (count == 0) return bytes;
    if (count > max_bytes - bytes.size()) {
      return absl::DataLossError(
          absl::StrCat(entry.name, ": the file is longer than ", max_bytes, " bytes"));
    }
    bytes.append(block.get(), count);
  }
}

bool IsHidden(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::any_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return absl::StartsWith(part, ".") && part != "." && part != "..";
  });
}

void FileSet::Add(uint64_t key, absl::string_view bytes) {
  Add(key, Sha256Of(bytes), static_cast<int64_t>(bytes.size()));
}

void FileSet::Add(uint64_t key, const Sha256Digest& digest, int64_t size_bytes) {
  files_.emplace_back(key, digest);
  size_bytes_ += size_bytes;
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

EncodedExample ExampleOfBytes(const RawExample& raw) {
  EncodedExample example;
  const auto* bytes = reinterpret_cast<const uint8_t*>(raw.bytes.data());
  example.tokens.assign(bytes, bytes + raw.bytes.size());
  example.label = raw.label;
  return example;
}

RawExample BytesOfExample(const EncodedExample& example) {
  RawExample raw;
  raw.bytes.assign(example.tokens.begin(), example.tokens.end());
  raw.label = example.label;
  return raw;
}

std::string BytesText(absl::Span<const uint16_t> tokens) {
  const std::string bytes(tokens.begin(), tokens.end());
  return HasReplacement(bytes) ? absl::CHexEscape(bytes) : absl::Utf8SafeCHexEscape(bytes);
}

absl::Status WriteSampleFile(absl::string_view folder, absl::string_view name,
                             absl::string_view bytes) {
  const std::string path = JoinPath(folder, name);
  LRA_RETURN_IF_ERROR(MakeDirectories(path.substr(0, path.rfind('/'))));
  return WriteFileAtomically(path, bytes);
}

std::string LastPartOf(absl::string_view path) {
  while (path.size() > 1 && absl::EndsWith(path, "/")) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

ManifestSource SourceOfFile(absl::string_view path, absl::string_view bytes) {
  ManifestSource source;
  source.set_name(LastPartOf(path));
  source.set_size_bytes(static_cast<int64_t>(bytes.size()));
  source.set_sha256(Sha256Hex(bytes));
  return source;
}

}  // namespace lra
