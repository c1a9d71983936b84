// Further sentences under a table: what was selected and overridden, the splits that it does not
// show, sizes of models, machines. Old records lack some of it, and then nothing is said.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/later_look.h"
#include "eval/leaderboard_internal.h"
#include "lra/config.h"
#include "lra/progress.h"

namespace lra::internal {
namespace {

// The most examples of a split that some run of the column was scored on; 0 where none was.
int64_t ScoredExamples(const ColumnRuns& column, const std::string& split,
                       const std::string& fingerprint) {
  int64_t most = 0;
  for (const Entry& entry : column.entries) {
    const auto& fingerprints = entry.record().data().split_fingerprint();
    const auto own = fingerprints.find(split);
    if (own == fingerprints.end() || own->second != fingerprint) continue;
    for (const SplitResult& result : entry.record().results()) {
      if (result.split() != split) continue;
      most = std::max<int64_t>(most, result.examples());
      most = std::max<int64_t>(most, result.split_examples());  // where some were left out
    }
  }
  return most;
}

// "2 layers of width 64"; empty where the record does not say.
std::string SizeText(const ModelConfig& model) {
  if (!model.has_layers() || !model.has_width()) return "";
  return absl::StrCat(model.layers(), model.layers() == 1 ? " layer" : " layers", " of width ",
                      model.width());
}

// The same of a column; sizes that differ are each followed by their methods.
std::string SizesText(const ColumnRuns& column) {
  std::map<std::string, std::set<std::string>> methods;  // by size
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    const std::string size =
        record.kind() == RunRecord::MEASURED ? SizeText(record.config().model()) : "";
    if (!size.empty()) methods[size].insert(record.method());
  }
  if (methods.size() == 1) return methods.begin()->first;
  return absl::StrJoin(methods, "; ", [](std::string* out, const auto& size) {
    absl::StrAppend(out, size.first, " (", absl::StrJoin(size.second, ", "), ")");
  });
}

// "AMD EPYC, kernels avx512", "NVIDIA H200, compute capability 9.0 beside AMD EPYC".
std::string MachineText(const Machine& machine) {
  if (!machine.device().empty())
    return absl::StrCat(machine.device(), machine.cpu().empty() ? "" : " beside ", machine.cpu());
  if (machine.cpu().empty()) return "";
  return absl::StrCat(machine.cpu(), machine.kernels().empty() ? "" : ", kernels ",
                      machine.kernels());
}

// The machines that a run was trained and scored on.
std::set<std::string> MachinesOf(const RunRecord& record) {
  std::set<std::string> machines = {MachineText(record.machine())};
  for (const TrainingStretch& stretch : record.stretch())
    machines.insert(MachineText(stretch.machine()));
  machines.erase("");
  return machines;
}

// By machine and column: the methods whose runs were there.
using MethodsOfMachines = std::map<std::string, std::map<size_t, std::set<std::string>>>;

MethodsOfMachines FindMachines(const std::vector<ColumnRuns>& columns) {
  MethodsOfMachines found;
  for (size_t c = 0; c < columns.size(); ++c) {
    for (const Entry& entry : columns[c].entries) {
      if (entry.record().kind() != RunRecord::MEASURED || entry.is_missing) continue;
      for (const std::string& machine : MachinesOf(entry.record()))
        found[machine][c].insert(entry.record().method());
    }
  }
  return found;
}

// Whether validation, being the test split, chose what was scored.
bool IsSelectedOnTest(const ExperimentConfig& config) {
  const bool looks = config.evaluation().selection() == EvaluationConfig::BEST_VALIDATION ||
                     config.has_search() || config.train().early_stop_evaluations() > 0 ||
                     config.schedule().kind() == ScheduleConfig::PLATEAU;
  return config.view().split() == DataView::TEST_AS_VALIDATION && looks;
}

}  // namespace

std::string DescribeSelection(const RunRecord& record) {
  if (record.later_look().has_step()) {
    return absl::StrCat("step ", FormatCount(record.later_look().step()),
                        " was scored, which is not known to be the selected or the last one");
  }
  const EvaluationConfig& evaluation = record.config().evaluation();
  switch (evaluation.selection()) {
    case EvaluationConfig::LAST:
      return "the last step was scored";
    case EvaluationConfig::FIXED_STEP:
      return absl::StrCat("step ", evaluation.step(), " was scored, whatever validation says");
    default:
      return absl::StrCat("the step with the best validation ", MetricName(record.spec()),
                          " was scored (ties: the earlier)");
  }
}

std::string DescribeSelectionOnTest(const ColumnRuns& column) {
  if (std::none_of(column.entries.begin(), column.entries.end(), [](const Entry& entry) {
        return entry.record().kind() == RunRecord::MEASURED &&
               IsSelectedOnTest(entry.record().config());
      }))
    return "";
  return absl::StrCat(column.task,
                      ": validation is the test split, so scores were selected on the test split.");
}

std::string DescribeOverrides(const ColumnRuns& column) {
  const std::string overrides = OverridesOfColumn(column);
  if (!overrides.empty()) return absl::StrCat("overridden: ", overrides);
  const bool is_known =
      std::none_of(column.entries.begin(), column.entries.end(), [](const Entry& entry) {
        return entry.record().kind() == RunRecord::MEASURED && entry.record().provenance().empty();
      });
  return is_known ? "nothing overridden" : "what was overridden is not on record";
}

std::string DescribeLaterLooks(const ColumnRuns& column) {
  const std::string text = DescribeTrainedOtherwise(column.entries.front().record());
  return text.empty() ? "" : absl::StrCat(column.task, ": scored after training: ", text, ".");
}

std::string DescribeOtherSplits(const ColumnRuns& column, const std::string& split) {
  const auto& fingerprints = column.entries.front().record().data().split_fingerprint();
  std::vector<std::string> parts;
  for (const std::string other : {"train", "validation", "test"}) {
    const auto fingerprint = fingerprints.find(other);
    if (other == split || fingerprint == fingerprints.end()) continue;
    const int64_t examples = ScoredExamples(column, other, fingerprint->second);
    parts.push_back(absl::StrCat(examples == 0 ? "" : absl::StrCat(FormatCount(examples), " "),
                                 other == "train" ? "training" : other, " examples (fingerprint ",
                                 fingerprint->second.substr(0, 12), ")"));
  }
  return parts.empty() ? "" : absl::StrCat(column.task, ": ", absl::StrJoin(parts, ", "), ".");
}

std::vector<std::string> DescribeSizes(const std::vector<ColumnRuns>& columns) {
  std::vector<std::pair<std::string, std::vector<std::string>>> tasks;  // by sizes
  for (const ColumnRuns& column : columns) {
    const std::string sizes = SizesText(column);
    if (sizes.empty()) continue;
    auto same = std::find_if(tasks.begin(), tasks.end(),
                             [&](const auto& other) { return other.first == sizes; });
    if (same == tasks.end()) {
      tasks.emplace_back(sizes, std::vector<std::string>());
      same = std::prev(tasks.end());
    }
    same->second.push_back(column.task);
  }
  std::vector<std::string> notes;
  for (const auto& [sizes, of] : tasks)
    notes.push_back(absl::StrCat(absl::StrJoin(of, ", "), ": ", sizes, "."));
  return notes;
}

std::string DescribeExternalRuns(const ColumnRuns& column) {
  std::map<std::string, std::set<uint32_t>> seeds;
  std::set<std::string> view;
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    if (record.kind() != RunRecord::EXTERNAL) continue;
    seeds[record.method()].insert(record.seed());
    for (const auto& [path, value] : ComparedFields(record.config().view()))
      view.insert(absl::StrCat(path, "=", value));
  }
  if (seeds.empty()) return "";
  std::vector<std::string> rows;
  for (const auto& [method, values] : seeds)
    rows.push_back(absl::StrCat(method, " ", absl::StrJoin(values, ", ")));
  return absl::StrCat(column.task, ": seeds of external rows ", absl::StrJoin(rows, "; "),
                      view.empty() ? "" : absl::StrCat("; view ", absl::StrJoin(view, ", ")), ".");
}

std::string DescribeMachines(const std::vector<ColumnRuns>& columns) {
  const MethodsOfMachines found = FindMachines(columns);
  if (found.empty()) return "";
  if (found.size() == 1) return absl::StrCat("Trained on ", found.begin()->first, ".");
  std::map<size_t, int> machines_of_column;
  for (const auto& [machine, methods] : found) {
    for (const auto& [c, names] : methods) ++machines_of_column[c];
  }
  std::vector<std::string> parts;
  for (const auto& [machine, methods] : found) {
    std::vector<std::string> where;
    for (const auto& [c, names] : methods) {
      where.push_back(machines_of_column[c] == 1
                          ? columns[c].task
                          : absl::StrCat(columns[c].task, ": ", absl::StrJoin(names, ", ")));
    }
    parts.push_back(absl::StrCat(machine, " (", absl::StrJoin(where, "; "), ")"));
  }
  return absl::StrCat("Trained on ", absl::StrJoin(parts, "; "), ".");
}

}  // namespace lra::internal
