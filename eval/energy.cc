#include "eval/energy.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lra/files.h"

namespace lra {
namespace {

constexpr char kZones[] = "/sys/class/powercap";
// "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it, and "intel-rapl-mmio:0" counts the
// same package another way.
constexpr char kPackage[] = "intel-rapl:";

bool IsPackage(absl::string_view zone) {
  return absl::StartsWith(zone, kPackage) && std::count(zone.begin(), zone.end(), ':') == 1;
}

std::optional<int64_t> ReadCount(const std::string& path) {
  constexpr int64_t kMaxBytes = 1 << 12;  // a page, as such files are sized
  const auto text = ReadFile(path, kMaxBytes);
  int64_t count = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &count) || count < 0)
    return std::nullopt;
  return count;
}

}  // namespace

EnergyMeter::EnergyMeter(absl::string_view root) {
  std::error_code ignored;
  std::filesystem::directory_iterator zone(absl::StrCat(root, kZones), ignored), end;
  is_readable_ = true;
  for (; !ignored && zone != end; zone.increment(ignored)) {
    if (!IsPackage(zone->path().filename().string())) continue;
    const std::string folder = zone->path().string();
    const std::string counter = JoinPath(folder, "energy_uj");
    const auto range = ReadCount(JoinPath(folder, "max_energy_range_uj"));
    const auto now = ReadCount(counter);
    is_readable_ = is_readable_ && range && now;
    packages_.push_back({counter, range.value_or(0), now.value_or(0)});
  }
  is_readable_ = is_readable_ && !packages_.empty();
}

std::optional<double> EnergyMeter::Joules() {
  if (!is_readable_) return std::nullopt;
  for (Package& package : packages_) {
    const std::optional<int64_t> now = ReadCount(package.counter);
    is_readable_ = is_readable_ && now;
    if (!is_readable_) return std::nullopt;
    const int64_t step = *now - package.last_microjoules;
    microjoules_ += step < 0 ? step + package.range_microjoules : step;
    package.last_microjoules = *now;
  }
  return static_cast<double>(microjoules_) / 1e6;
}

}  // namespace lra
