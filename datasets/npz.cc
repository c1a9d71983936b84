#include "datasets/npz.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "datasets/archive.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kUnpackedBlockBytes = 1 << 16;

// The rest of the source's current file, which may have up to *left bytes; they are taken off.
absl::StatusOr<std::string> Unpack(RawSource* source, absl::string_view where, int64_t* left) {
  std::string bytes;
  std::vector<char> block(kUnpackedBlockBytes);
  while (true) {
    LRA_ASSIGN_OR_RETURN(const size_t count, source->Read(block.data(), block.size()));
    if (count == 0) return bytes;
    *left -= static_cast<int64_t>(count);
    if (*left < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": the arrays are larger than anything that belongs here"));
    }
    bytes.append(block.data(), count);
  }
}

}  // namespace

bool IsNpzPath(absl::string_view path) { return absl::EndsWith(path, ".npz"); }

absl::StatusOr<std::map<std::string, MappedNpy>> ReadNpz(absl::string_view path,
                                                         const std::vector<std::string>& names,
                                                         int64_t max_bytes) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<RawSource> source, OpenRawSource(path));
  std::map<std::string, MappedNpy> arrays;
  while (true) {
    LRA_ASSIGN_OR_RETURN(const std::optional<RawEntry> entry, source->Next());
    if (!entry) return arrays;
    const std::string name(absl::StripSuffix(entry->name, ".npy"));
    const std::string where = absl::StrCat(path, ", array \"", name, "\"");
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, " is not one of ", absl::StrJoin(names, ", ")));
    }
    LRA_ASSIGN_OR_RETURN(std::string bytes, Unpack(source.get(), where, &max_bytes));
    LRA_ASSIGN_OR_RETURN(MappedNpy array, MappedNpy::FromBytes(std::move(bytes), where));
    if (!arrays.emplace(name, std::move(array)).second)
      return absl::InvalidArgumentError(absl::StrCat(where, " occurs twice"));
  }
}

}  // namespace lra
