#include "lra/temporary_name.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lra {
namespace {

constexpr absl::string_view kMark = ".tmp-";

// Whether `rest` is "PID-N".
bool IsEnd(absl::string_view rest) {
  return rest.find_first_not_of("0123456789-") == absl::string_view::npos &&
         std::count(rest.begin(), rest.end(), '-') == 1 && rest.front() != '-' &&
         rest.back() != '-';
}

}  // namespace

std::string TemporaryName(absl::string_view path) {
  static std::atomic<int> counter{0};
  return absl::StrCat(path, kMark, getpid(), "-", counter++);
}

bool IsTemporaryName(absl::string_view path) {
  const size_t at = path.rfind(kMark);
  return at != absl::string_view::npos && IsEnd(path.substr(at + kMark.size()));
}

bool IsTemporaryNameOf(absl::string_view path, absl::string_view name) {
  return absl::ConsumePrefix(&name, path) && absl::ConsumePrefix(&name, kMark) && IsEnd(name);
}

}  // namespace lra
