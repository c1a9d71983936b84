#include "train/field_difference.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/config.h"

namespace lra {

std::optional<ConfigDifference> FirstFieldDifference(
    const ExperimentConfig& here, const ExperimentConfig& there,
    absl::FunctionRef<bool(absl::string_view)> counts) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  const auto fill = [&](ExperimentConfig config, bool is_here) {
    FillLegacyValues(&config);
    for (auto& [path, value] : LeafFields(config)) {
      if (!counts(path)) continue;
      auto& both = values.try_emplace(path, "unset", "unset").first->second;
      (is_here ? both.first : both.second) = value;
    }
  };
  fill(here, true);
  fill(there, false);
  for (const auto& [path, both] : values)
    if (both.first != both.second) return ConfigDifference{path, both.first, both.second};
  return std::nullopt;
}

std::string DescribeDifference(const ConfigDifference& difference) {
  return absl::StrCat(difference.path, " is ", difference.here, ", that run has ",
                      difference.there);
}

}  // namespace lra
