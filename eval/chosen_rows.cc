#include "eval/chosen_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

bool IsWanted(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

const std::string& TaskOf(const RunRecord& record) { return record.data().task(); }

bool HasMethodOfItsOwn(const RunRecord& record) { return record.kind() != RunRecord::BASELINE; }

absl::Status CheckKnown(const char* what, const std::vector<std::string>& wanted,
                        const std::set<std::string>& known) {
  for (const std::string& name : wanted) {
    if (known.count(name) == 0)
      return UnknownNameError(absl::StrCat(what, " of these runs"), name,
                              {known.begin(), known.end()});
  }
  return absl::OkStatus();
}

std::string Part(const char* what, const std::vector<std::string>& wanted, size_t known) {
  const size_t chosen = std::set<std::string>(wanted.begin(), wanted.end()).size();
  return absl::StrCat(what, " ", absl::StrJoin(wanted, ", "), " (of ", known,
                      known == chosen ? ", all)" : ")");
}

}  // namespace

absl::StatusOr<ChosenRows> ChooseRows(const FoundRuns& found,
                                      const std::vector<PublishedTable>& published,
                                      const LeaderboardOptions& options) {
  ChosenRows chosen = {found, published, ""};
  std::set<std::string> tasks, methods;
  for (const auto* runs : {&found.runs, &found.stopped}) {
    for (const LocatedRecord& run : *runs) {
      tasks.insert(TaskOf(run.record));
      if (HasMethodOfItsOwn(run.record)) methods.insert(run.record.method());
    }
  }
  LRA_RETURN_IF_ERROR(CheckKnown("task", options.tasks, tasks));
  LRA_RETURN_IF_ERROR(CheckKnown("method", options.methods, methods));
  const auto is_other = [&](const LocatedRecord& run) {
    if (!IsWanted(options.tasks, TaskOf(run.record))) return true;
    return HasMethodOfItsOwn(run.record) && !IsWanted(options.methods, run.record.method());
  };
  for (auto* runs : {&chosen.found.runs, &chosen.found.stopped})
    runs->erase(std::remove_if(runs->begin(), runs->end(), is_other), runs->end());
  for (PublishedTable& table : chosen.published) {
    auto* rows = table.mutable_rows();
    const auto others = std::remove_if(rows->begin(), rows->end(), [&](const PublishedRow& row) {
      return !IsWanted(options.methods, row.method());
    });
    rows->erase(others, rows->end());
  }
  std::vector<std::string> parts;
  if (!options.tasks.empty()) parts.push_back(Part("tasks", options.tasks, tasks.size()));
  if (!options.methods.empty()) parts.push_back(Part("methods", options.methods, methods.size()));
  if (!parts.empty())
    chosen.note = absl::StrCat("Chosen by whoever made this table: ", absl::StrJoin(parts, "; "),
                               "; corrections for several comparisons count these rows only.");
  return chosen;
}

}  // namespace lra
