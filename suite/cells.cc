#include "suite/cells.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/part.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "train/seeds.h"

namespace lra {
namespace {

constexpr char kEnding[] = ".textproto";

using Sets = std::vector<std::string>;

// One level of each factor: their names and settings.
struct Combination {
  std::string name;
  Sets sets;
};

Sets Joined(Sets sets, const google::protobuf::RepeatedPtrField<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Every combination of levels; one without settings where there are no factors.
std::vector<Combination> Combinations(const SuiteGroup& group) {
  std::vector<Combination> all = {{}};
  for (const SuiteFactor& factor : group.factor()) {
    std::vector<Combination> longer;
    for (const Combination& one : all) {
      for (const SuiteLevel& level : factor.level()) {
        longer.push_back(
            {absl::StrCat(one.name, one.name.empty() ? "" : ", ", factor.name(), " ", level.name()),
             Joined(one.sets, level.set())});
      }
    }
    all = std::move(longer);
  }
  return all;
}

Sets SetsOfTask(const SuiteGroup& group, const std::string& task) {
  Sets sets = Joined({}, group.set());
  for (const SuiteTask& of : group.for_task()) {
    if (of.task() == task) sets = Joined(std::move(sets), of.set());
  }
  return sets;
}

absl::Status CheckGroup(const SuiteGroup& group) {
  if (group.task().empty()) return absl::InvalidArgumentError("it names no task");
  if (group.attention().empty()) return absl::InvalidArgumentError("it names no attention");
  for (const SuiteFactor& factor : group.factor()) {
    if (factor.level_size() < 2) {
      return absl::InvalidArgumentError(absl::StrCat("factor \"", factor.name(), "\" has ",
                                                     factor.level_size(),
                                                     " levels; a comparison needs two"));
    }
  }
  for (const SuiteTask& of : group.for_task()) {
    if (std::find(group.task().begin(), group.task().end(), of.task()) == group.task().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("for_task \"", of.task(), "\" is no task of the group"));
    }
  }
  return absl::OkStatus();
}

std::string RunFilePath(const std::string& name) {
  return name.empty() ? "" : JoinPath(ConfigDirectory(), absl::StrCat(name, kEnding));
}

// The runs of one task and attention. Two combinations of levels with the same configuration would
// be one run, and what they compare would be missing.
absl::Status AddCombinations(const SuiteGroup& group, const ExperimentChoice& choice,
                             const std::vector<uint32_t>& seeds, std::vector<SuiteCell>* cells) {
  std::map<std::string, std::string> combination_of;  // by the run's name
  for (const Combination& combination : Combinations(group)) {
    SuiteCell cell;
    cell.choice = choice;
    cell.choice.sets.insert(cell.choice.sets.end(), combination.sets.begin(),
                            combination.sets.end());
    LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(cell.choice));
    cell.config = resolved.config;
    for (const uint32_t seed : seeds) {
      cell.seed = seed;
      cell.config.set_seed(seed);
      cell.name = ExperimentName(cell.config);
      const auto [other, is_new] = combination_of.emplace(cell.name, combination.name);
      if (!is_new) {
        return absl::InvalidArgumentError(absl::StrCat(choice.task, ", ", choice.attention, ": \"",
                                                       other->second, "\" and \"", combination.name,
                                                       "\" are the same configuration"));
      }
      cells->push_back(cell);
    }
  }
  return absl::OkStatus();
}

absl::Status AddGroup(const SuiteGroup& group, std::vector<SuiteCell>* cells) {
  LRA_RETURN_IF_ERROR(CheckGroup(group));
  LRA_ASSIGN_OR_RETURN(const std::vector<uint32_t> seeds,
                       ParseSeeds(group.seeds().empty() ? "0" : group.seeds()));
  for (const std::string& task : group.task()) {
    for (const std::string& attention : group.attention()) {
      const ExperimentChoice choice = {task,
                                       attention,
                                       group.protocol(),
                                       group.preset(),
                                       RunFilePath(group.run_file()),
                                       SetsOfTask(group, task)};
      LRA_RETURN_IF_ERROR(AddCombinations(group, choice, seeds, cells));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SuiteFile> LoadSuite(const std::string& name_or_path) {
  std::string path = name_or_path;
  if (!absl::EndsWith(path, kEnding)) {
    LRA_ASSIGN_OR_RETURN(path, ConfigPath("suites", "suite", name_or_path));
  }
  SuiteFile suite;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &suite));
  return suite;
}

std::string SuiteName(const std::string& name_or_path) {
  return std::filesystem::path(name_or_path).stem().string();
}

absl::StatusOr<std::vector<SuiteCell>> ExpandSuite(const SuiteFile& suite) {
  std::vector<SuiteCell> all;
  for (int i = 0; i < suite.group_size(); ++i) {
    const absl::Status added = AddGroup(suite.group(i), &all);
    if (!added.ok())
      return absl::Status(added.code(), absl::StrCat("group ", i + 1, ": ", added.message()));
  }
  if (all.empty()) return absl::InvalidArgumentError("a suite without a group has no runs");
  std::stable_sort(all.begin(), all.end(),
                   [](const SuiteCell& a, const SuiteCell& b) { return a.seed < b.seed; });
  std::set<std::string> names;
  std::vector<SuiteCell> cells;
  for (SuiteCell& cell : all) {
    if (names.insert(cell.name).second) cells.push_back(std::move(cell));
  }
  return cells;
}

absl::StatusOr<std::vector<SuiteCell>> ShardOf(const std::vector<SuiteCell>& cells,
                                               const std::string& shard) {
  LRA_ASSIGN_OR_RETURN(const Part numbers, ParsePart(shard));
  std::vector<SuiteCell> part;
  for (size_t i = numbers.index; i < cells.size(); i += numbers.parts) part.push_back(cells[i]);
  return part;
}

}  // namespace lra
