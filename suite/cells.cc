#include "suite/cells.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "suite/own_encoders.h"
#include "suite/suite_file.h"
#include "train/seeds.h"

namespace lra {
namespace {

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
  Sets sets;
  for (const SuiteTask& of : group.for_task()) {
    if (of.task() == task) sets = Joined(std::move(sets), of.set());
  }
  return sets;
}

// The fields of a search over the rates that hold for the method.
Sets SetsOfSearch(const SuiteGroup& group, const std::string& attention) {
  if (!group.has_search()) return {};
  auto rates = group.search().learning_rate();
  for (const SuiteMethodSearch& of : group.search().for_attention()) {
    if (of.attention() == attention) rates = of.learning_rate();
  }
  return {absl::StrCat("search.learning_rate=", absl::StrJoin(rates, ",")),
          absl::StrCat("search.budget_trials=", rates.size()), "search.select=VALIDATION"};
}

bool Holds(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status CheckPairs(const SuiteGroup& group) {
  for (const SuiteCase& cell : group.cell()) {
    if (!cell.name().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cell \"", cell.name(), "\": names are for the two cells of a pair; leave it out"));
    }
  }
  std::set<std::string> names;
  for (const SuitePair& pair : group.pair()) {
    const std::string what = absl::StrCat("pair \"", pair.name(), "\"");
    if (pair.name().empty()) return absl::InvalidArgumentError("a pair has no name");
    if (!names.insert(pair.name()).second)
      return absl::InvalidArgumentError(absl::StrCat("two pairs are named \"", pair.name(), "\""));
    if (!pair.has_first() || !pair.has_second())
      return absl::InvalidArgumentError(absl::StrCat(what, " needs `first` and `second`"));
    if (pair.first().task() != pair.second().task()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " compares task \"", pair.first().task(),
                                                     "\" with \"", pair.second().task(),
                                                     "\"; both cells are of the same task"));
    }
    if (!pair.first().name().empty() && pair.first().name() == pair.second().name()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": both cells are named \"", pair.first().name(), "\""));
    }
    if (pair.first().attention().empty() != pair.second().attention().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": both cells name an attention, or neither does"));
    }
  }
  return absl::OkStatus();
}

std::vector<SuiteCase> CasesOf(const SuiteGroup& group) {
  std::vector<SuiteCase> cases(group.cell().begin(), group.cell().end());
  for (const SuitePair& pair : group.pair())
    cases.insert(cases.end(), {pair.first(), pair.second()});
  if (cases.empty()) cases.emplace_back();
  return cases;
}

bool NamesAttention(const SuiteGroup& group, const std::string& attention) {
  const std::vector<SuiteCase> cases = CasesOf(group);
  return Holds(group.attention(), attention) ||
         std::any_of(cases.begin(), cases.end(),
                     [&](const SuiteCase& one) { return one.attention() == attention; });
}

absl::Status CheckSearch(const SuiteGroup& group) {
  if (!group.has_search()) return absl::OkStatus();
  const int trials = group.search().learning_rate_size();
  if (trials == 0) return absl::InvalidArgumentError("search names no learning_rate");
  for (const SuiteMethodSearch& of : group.search().for_attention()) {
    if (!NamesAttention(group, of.attention())) {
      return absl::InvalidArgumentError(absl::StrCat("search.for_attention \"", of.attention(),
                                                     "\" is no attention of the group"));
    }
    if (of.learning_rate_size() != trials) {
      return absl::InvalidArgumentError(absl::StrCat(
          "search.for_attention \"", of.attention(), "\" has ", of.learning_rate_size(),
          " learning rates, the others have ", trials, "; every method gets the same number"));
    }
  }
  return absl::OkStatus();
}

// Effects and tables know factors, and levels of one factor, by their names.
absl::Status CheckName(const std::string& name, const std::string& of,
                       std::set<std::string>* names) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat(of, " has no name"));
  if (names->insert(name).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(of, " is named \"", name, "\", as another is"));
}

absl::Status CheckFactors(const SuiteGroup& group) {
  if (group.factor_size() > 0 && group.cell_size() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has `factor` (\"", group.factor(0).name(), "\") and `cell`, so that nothing would be ",
        "compared; name what is as `pair`, or set the levels in cells of a group of their own"));
  }
  std::set<std::string> factors;
  for (const SuiteFactor& factor : group.factor()) {
    LRA_RETURN_IF_ERROR(CheckName(factor.name(), "a factor", &factors));
    const std::string what = absl::StrCat("factor \"", factor.name(), "\"");
    if (factor.level_size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has ", factor.level_size(), " levels; a comparison needs two"));
    }
    std::set<std::string> levels;
    for (const SuiteLevel& level : factor.level())
      LRA_RETURN_IF_ERROR(CheckName(level.name(), absl::StrCat("a level of ", what), &levels));
  }
  return absl::OkStatus();
}

absl::Status CheckGroup(const SuiteGroup& group) {
  LRA_RETURN_IF_ERROR(CheckFactors(group));
  for (const SuiteTask& of : group.for_task()) {
    if (!Holds(group.task(), of.task())) {
      return absl::InvalidArgumentError(
          absl::StrCat("for_task \"", of.task(), "\" is no task of the group"));
    }
  }
  LRA_RETURN_IF_ERROR(CheckPairs(group));
  return CheckSearch(group);
}

// The runs of one task and attention, of these seeds or, without any, of the one that their
// configuration has. Two combinations of levels with the same configuration would be one run, and
// what they compare would be missing.
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
    LRA_RETURN_IF_ERROR(CheckNoSeedIsSet(resolved));
    const std::vector<uint32_t> own = {resolved.config.seed()};  // its run file's, or 0
    for (const uint32_t seed : seeds.empty() ? own : seeds) {
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

// What a case names, or each of the group's.
absl::StatusOr<std::vector<std::string>> NamesOf(
    const char* what, const std::string& own,
    const google::protobuf::RepeatedPtrField<std::string>& of_group) {
  if (!own.empty()) return std::vector<std::string>{own};
  if (of_group.empty()) return absl::InvalidArgumentError(absl::StrCat("it names no ", what));
  return std::vector<std::string>(of_group.begin(), of_group.end());
}

absl::StatusOr<std::vector<SuiteCell>> ExpandCase(const SuiteGroup& group, const SuiteCase& one) {
  std::vector<uint32_t> seeds;
  if (!group.seeds().empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(group.seeds()));
  }
  LRA_ASSIGN_OR_RETURN(const auto tasks, NamesOf("task", one.task(), group.task()));
  LRA_ASSIGN_OR_RETURN(const auto attentions,
                       NamesOf("attention", one.attention(), group.attention()));
  std::vector<SuiteCell> cells;
  for (const std::string& task : tasks) {
    for (const std::string& attention : attentions) {
      Sets sets = Joined({}, group.set());
      for (const Sets& more : {SetsOfSearch(group, attention), SetsOfTask(group, task)})
        sets.insert(sets.end(), more.begin(), more.end());
      const ExperimentChoice choice = {task,
                                       attention,
                                       group.protocol(),
                                       group.preset(),
                                       RunFilePath(group.run_file()),
                                       Joined(std::move(sets), one.set())};
      LRA_RETURN_IF_ERROR(AddCombinations(group, choice, seeds, &cells));
    }
  }
  return cells;
}

// A number of trials is a part of the method's chances.
absl::Status CheckBudgets(const std::vector<SuiteCell>& cells) {
  for (const SuiteCell& cell : cells) {
    const int here = cell.config.search().budget_trials();
    const int there = cells.front().config.search().budget_trials();
    if (here == there) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        CellName(cell), " has ", here, " trials of a search, ", CellName(cells.front()), " has ",
        there, "; every run of a group gets the same number: state it in `search`"));
  }
  return absl::OkStatus();
}

absl::Status CheckPairsDiffer(const SuiteGroup& group) {
  for (const SuitePair& pair : group.pair()) {
    LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> first, ExpandCase(group, pair.first()));
    LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> second, ExpandCase(group, pair.second()));
    // Both are of the same tasks, levels and seeds, in the same order. A level may undo what one of
    // the cells sets.
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i].name != second[i].name) continue;
      return absl::InvalidArgumentError(absl::StrCat("pair \"", pair.name(),
                                                     "\": both cells are the same configuration, ",
                                                     CellName(first[i])));
    }
  }
  return absl::OkStatus();
}

absl::Status AddGroup(const SuiteGroup& group, std::vector<SuiteCell>* cells) {
  LRA_RETURN_IF_ERROR(CheckGroup(group));
  std::vector<SuiteCell> of_group;
  for (const SuiteCase& one : CasesOf(group)) {
    LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> more, ExpandCase(group, one));
    of_group.insert(of_group.end(), more.begin(), more.end());
  }
  LRA_RETURN_IF_ERROR(CheckBudgets(of_group));
  LRA_RETURN_IF_ERROR(CheckPairsDiffer(group));
  cells->insert(cells->end(), of_group.begin(), of_group.end());
  return absl::OkStatus();
}

absl::Status InGroup(int index, const absl::Status& status) {
  return Annotate(status, absl::StrCat("group ", index + 1));
}

// What a cell is made of, for a message about two that share a name.
std::string ChoiceText(const SuiteCell& cell) {
  return absl::StrCat(cell.choice.task, " with ", cell.choice.attention, " (",
                      absl::StrJoin(cell.choice.sets, ", "), "), fingerprint ",
                      CellFingerprint(cell.config));
}

}  // namespace

absl::StatusOr<std::vector<SuiteCell>> ExpandSuite(const SuiteFile& suite) {
  std::vector<SuiteCell> all;
  for (int i = 0; i < suite.group_size(); ++i) {
    LRA_RETURN_IF_ERROR(InGroup(i, AddGroup(suite.group(i), &all)));
  }
  if (all.empty()) return absl::InvalidArgumentError("a suite without a group has no runs");
  for (SuiteCell& cell : all) {
    if (cell.config.has_encoder_weights_sha256()) cell.init_from = suite.init_from();
  }
  LRA_RETURN_IF_ERROR(StartFromOwnEncoders(suite, &all));
  std::stable_sort(all.begin(), all.end(),
                   [](const SuiteCell& a, const SuiteCell& b) { return a.seed < b.seed; });
  return EachRunOnce(std::move(all));
}

absl::StatusOr<std::vector<SuiteCell>> EachRunOnce(std::vector<SuiteCell> all) {
  std::map<std::string, size_t> places;  // by name
  std::vector<SuiteCell> cells;
  for (SuiteCell& cell : all) {
    const auto [place, is_new] = places.emplace(cell.name, cells.size());
    if (is_new) {
      cells.push_back(std::move(cell));
      continue;
    }
    const SuiteCell& first = cells[place->second];
    if (CellFingerprint(first.config) == CellFingerprint(cell.config)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "two configurations would be one run, ", cell.name, ": ", ChoiceText(first), ", and ",
        ChoiceText(cell), "; a name has eight digits of the fingerprint, which these share by ",
        "chance: put one of them into a suite of its own"));
  }
  return cells;
}

std::string CellName(const SuiteCell& cell) { return cell.name.substr(0, cell.name.rfind("-s")); }

std::vector<SuiteCell> ShardOf(const std::vector<SuiteCell>& cells,
                               const std::vector<double>& costs, const Part& part) {
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(cells[a].seed, -costs[a], cells[a].name) <
           std::make_tuple(cells[b].seed, -costs[b], cells[b].name);
  });
  // The parts behind as many as there are runs stay empty.
  std::vector<double> loads(std::min(static_cast<size_t>(part.parts), cells.size()));
  std::vector<bool> is_mine(cells.size());
  for (const size_t i : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += costs[i];
    is_mine[i] = least - loads.begin() == part.index;
  }
  std::vector<SuiteCell> mine;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (is_mine[i]) mine.push_back(cells[i]);
  }
  return mine;
}

}  // namespace lra
