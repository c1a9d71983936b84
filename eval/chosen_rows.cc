#include "eval/chosen_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra::internal {
namespace {

using Names = std::set<std::string>;
using Tables = std::vector<std::vector<ColumnRuns>>;

bool IsWanted(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

bool IsBaseline(const Entry& entry) { return entry.record().kind() == RunRecord::BASELINE; }

Names TasksOf(const Tables& tables) {
  Names tasks;
  for (const auto& columns : tables) {
    for (const ColumnRuns& column : columns) tasks.insert(column.task);
  }
  return tasks;
}

Names MethodsOf(const Tables& tables) {
  Names methods;
  for (const auto& columns : tables) {
    for (const ColumnRuns& column : columns) {
      for (const Entry& entry : column.entries) {
        if (!IsBaseline(entry)) methods.insert(entry.record().method());
      }
    }
  }
  return methods;
}

// Erases the elements that are unwanted.
template <class Container, class Predicate>
void Erase(Container* elements, Predicate is_unwanted) {
  elements->erase(std::remove_if(elements->begin(), elements->end(), is_unwanted), elements->end());
}

void KeepTasks(const std::vector<std::string>& tasks, Tables* tables) {
  for (auto& columns : *tables)
    Erase(&columns, [&](const ColumnRuns& column) { return !IsWanted(tasks, column.task); });
}

void KeepMethods(const std::vector<std::string>& methods, Tables* tables) {
  if (methods.empty()) return;
  for (auto& columns : *tables) {
    for (ColumnRuns& column : columns) {
      Erase(&column.entries, [&](const Entry& entry) {
        return !IsBaseline(entry) && !IsWanted(methods, entry.record().method());
      });
    }
    Erase(&columns, [](const ColumnRuns& column) {
      return std::all_of(column.entries.begin(), column.entries.end(), IsBaseline);
    });
  }
}

absl::Status CheckKnown(const char* what, const std::vector<std::string>& wanted,
                        const Names& known) {
  for (const std::string& name : wanted) {
    if (known.count(name) == 0)
      return UnknownNameError(absl::StrCat(what, " of these rows"), name,
                              {known.begin(), known.end()});
  }
  return absl::OkStatus();
}

// Tables of others whose rows are of none of the methods; named in a sentence.
std::string KeepPublishedMethods(const std::vector<std::string>& methods,
                                 std::vector<PublishedTable>* published) {
  std::vector<std::string> without;
  for (PublishedTable& table : *published) {
    Erase(table.mutable_rows(),
          [&](const PublishedRow& row) { return !IsWanted(methods, row.method()); });
    if (table.rows().empty()) without.push_back(table.name());
  }
  Erase(published, [](const PublishedTable& table) { return table.rows().empty(); });
  if (without.empty()) return "";
  return absl::StrCat(" Published ", absl::StrJoin(without, ", "), ": no row of these methods.");
}

// "tasks listops (of 3)", of those that leave something out.
std::string Choice(const char* what, const std::vector<std::string>& wanted, const Names& known) {
  const Names chosen(wanted.begin(), wanted.end());
  const auto left_out = std::count_if(
      known.begin(), known.end(), [&](const std::string& name) { return chosen.count(name) == 0; });
  if (wanted.empty() || left_out == 0) return "";
  return absl::StrCat(what, " ", absl::StrJoin(wanted, ", "), " (of ", known.size(), ")");
}

}  // namespace

absl::StatusOr<ChosenRows> ChooseRows(Tables tables, std::vector<PublishedTable> published,
                                      const LeaderboardOptions& options) {
  const Names tasks = TasksOf(tables);
  LRA_RETURN_IF_ERROR(CheckKnown("task", options.tasks, tasks));
  KeepTasks(options.tasks, &tables);
  const Names methods = MethodsOf(tables);
  Names known = methods;
  for (const PublishedTable& table : published) {
    for (const PublishedRow& row : table.rows()) known.insert(row.method());
  }
  LRA_RETURN_IF_ERROR(CheckKnown("method", options.methods, known));
  KeepMethods(options.methods, &tables);
  Erase(&tables, [](const std::vector<ColumnRuns>& columns) { return columns.empty(); });
  if (tables.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("no run of method ", absl::StrJoin(options.methods, ", "), " on these tasks"));
  ChosenRows chosen = {std::move(tables), std::move(published), ""};
  const std::string without = KeepPublishedMethods(options.methods, &chosen.published);
  std::vector<std::string> parts = {Choice("tasks", options.tasks, tasks),
                                    Choice("methods", options.methods, methods)};
  Erase(&parts, [](const std::string& part) { return part.empty(); });
  if (!parts.empty())
    chosen.note = absl::StrCat("Chosen: ", absl::StrJoin(parts, "; "),
                               "; baselines stay. What is told apart and what counts as learned is "
                               "corrected over the rows shown only.",
                               without);
  return chosen;
}

}  // namespace lra::internal
