#include "suite/cell_differences.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/protocol_rules.h"

namespace lra {
namespace {

using FieldValues = std::vector<std::pair<std::string, std::string>>;

// One of several with the same names but for the digits.
struct Namesake {
  std::string cell;
  FieldValues fields;  // in field order, without the seed
};

FieldValues FieldsOf(ExperimentConfig config) {
  config.clear_seed();
  if (config.has_encoder_recipe()) config.clear_encoder_weights_sha256();
  return ComparedFields(config);
}

// What a cell's name says but for its digits.
std::vector<std::string> KeyOf(const ExperimentConfig& config) {
  return {config.task(), MethodOf(config), config.block().name(), config.preset(),
          std::string(ProtocolName(config))};
}

// How many of the cells have the field with this value.
std::map<std::pair<std::string, std::string>, size_t> CountFields(
    const std::vector<Namesake>& namesakes) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const Namesake& one : namesakes) {
    for (const auto& field : one.fields) ++counts[field];
  }
  return counts;
}

}  // namespace

CellDifferences DifferencesOf(const std::vector<SuiteCell>& cells) {
  std::map<std::vector<std::string>, std::vector<Namesake>> groups;
  std::set<std::string> seen;
  for (const SuiteCell& cell : cells) {
    if (seen.insert(CellName(cell)).second)
      groups[KeyOf(cell.config)].push_back({CellName(cell), FieldsOf(cell.config)});
  }
  CellDifferences differences;
  for (const auto& [key, namesakes] : groups) {
    const auto counts = CountFields(namesakes);
    for (const Namesake& one : namesakes) {
      for (const auto& field : one.fields) {
        if (2 * counts.at(field) <= namesakes.size())
          differences[one.cell].push_back(absl::StrCat(field.first, "=", field.second));
      }
    }
  }
  return differences;
}

std::string DifferencesText(const CellDifferences& differences, const SuiteCell& cell) {
  const auto own = differences.find(CellName(cell));
  return own == differences.end() ? "" : absl::StrJoin(own->second, ", ");
}

}  // namespace lra
