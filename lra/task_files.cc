#include "lra/task_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// The fragment's name after the names of those that it extends, the farthest first, each once.
absl::StatusOr<std::vector<std::string>> Lineage(absl::string_view kind,
                                                 const ConfigFragment& fragment) {
  std::vector<std::string> names = {fragment.name()};
  for (std::string extended = fragment.extends(); !extended.empty();) {
    LRA_ASSIGN_OR_RETURN(const ConfigFragment file, LoadFragment(kind, extended));
    const std::string& base = file.name();
    // An earlier version extends the current one, which has its name.
    if (base != names.front()) names.insert(names.begin(), base);
    extended = file.extends();
  }
  return names;
}

absl::Status AddTaskPart(absl::string_view kind, const TaskFile& file, ConfigFragment* fragment) {
  const auto& parts = kind == "protocols" ? file.protocol() : file.preset();
  if (parts.empty()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> lineage, Lineage(kind, *fragment));
  const bool is_named = fragment->task().count(file.name()) > 0;
  for (const std::string& name : lineage) {
    const auto part = parts.find(name);
    if (part == parts.end()) continue;
    if (is_named) {
      return absl::InvalidArgumentError(
          absl::StrCat("tasks/", file.name(), ".textproto speaks for ", name, ", but ", kind, "/",
                       fragment->name(), ".textproto names the task itself; only one of them may"));
    }
    MergeConfig(part->second, &(*fragment->mutable_task())[file.name()]);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> TasksInOrder() {
  std::vector<std::pair<int32_t, std::string>> ranked;
  for (std::string& name : ConfigNames("tasks")) {
    const absl::StatusOr<TaskFile> file = LoadTaskFile(name);
    const bool has_order = file.ok() && file->has_order();
    ranked.emplace_back(has_order ? file->order() : std::numeric_limits<int32_t>::max(),
                        std::move(name));
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (auto& [order, name] : ranked) names.push_back(std::move(name));
  return names;
}

int64_t BlockExamplesOf(absl::string_view task) {
  const absl::StatusOr<TaskFile> file = LoadTaskFile(task);
  return file.ok() ? std::max<int64_t>(1, file->block_examples()) : 1;
}

absl::StatusOr<ConfigFragment> LoadFragmentForTask(absl::string_view kind, absl::string_view name,
                                                   absl::string_view task) {
  LRA_ASSIGN_OR_RETURN(ConfigFragment fragment, LoadFragment(kind, name));
  const std::vector<std::string> known = ConfigNames("tasks");
  if (std::find(known.begin(), known.end(), task) == known.end()) return fragment;
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(task));
  LRA_RETURN_IF_ERROR(AddTaskPart(kind, file, &fragment));
  return fragment;
}

absl::StatusOr<ConfigFragment> LoadFragmentForAllTasks(absl::string_view kind,
                                                       absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(ConfigFragment fragment, LoadFragment(kind, name));
  for (const std::string& task : ConfigNames("tasks")) {
    LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(task));
    LRA_RETURN_IF_ERROR(AddTaskPart(kind, file, &fragment));
  }
  return fragment;
}

absl::Status CheckCoversTask(absl::string_view kind, const ConfigFragment& fragment,
                             absl::string_view task) {
  const bool is_protocol = kind == "protocols";
  const bool holds_for_all = !is_protocol && fragment.base().ByteSizeLong() > 0;
  if (holds_for_all || fragment.task().empty() || fragment.task().count(std::string(task)) > 0)
    return absl::OkStatus();
  std::vector<std::string> tasks;
  for (const auto& [name, part] : fragment.task()) tasks.push_back(name);
  std::sort(tasks.begin(), tasks.end());
  const std::string full_name =
      is_protocol ? absl::StrCat("protocol \"", fragment.name(), "@", fragment.version())
                  : absl::StrCat("preset \"", fragment.name());
  return absl::InvalidArgumentError(absl::StrCat(
      full_name, "\" has no ", is_protocol ? "rules" : "sizes", " for task \"", task, "\"; it has ",
      absl::StrJoin(tasks, ", "),
      "; others bring their own in configs/tasks/<name>.textproto or "
      "beside their data, as ",
      is_protocol ? "protocol" : "preset", " { key: \"", fragment.name(), "\" value { ... } }"));
}

absl::StatusOr<std::vector<std::string>> NamesForTask(absl::string_view kind,
                                                      absl::string_view task) {
  std::vector<std::string> names;
  for (std::string& name : ConfigNames(kind)) {
    LRA_ASSIGN_OR_RETURN(const ConfigFragment fragment, LoadFragmentForTask(kind, name, task));
    if (CheckCoversTask(kind, fragment, task).ok()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace lra
