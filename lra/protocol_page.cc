#include "lra/protocol_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/protocol_rules.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"

namespace lra {
namespace {

constexpr absl::string_view kIntroduction =
    R"(# Protocols

A number of ours is defined by an executable protocol: a versioned file of `configs/protocols/` that sets every rule,
while a preset (`configs/presets/`) sets sizes. Both, and each override, are in the record of a run and in its
fingerprint; runs of unlike fingerprints never share a table. `lra config --task T --attention A --protocol P` prints
every resolved value and what set it, and marks those that differ from the protocol's; `--set FIELD=VALUE` changes one;
what each value means stands beside its field in `lra/config.proto`.

This page is made by `lra list protocols --markdown`; a test compares it.
)";

constexpr char kRuns[] = R"(
## What a run does

The rules above as each preset leaves them. A preset sets sizes, and a budget (steps, batch, learning rate) only under the
protocols that it names; `lra config` and the record of a run name each rule that was changed.
)";

constexpr char kConsequences[] = R"(
## What follows from some rules

* `optimizer.decay_scope=ALL_PARAMETERS` (`lra2020`, as in the official code) with a weight decay above 0 also decays what an
  attention learns besides projections: exponents, scales, frequencies. They shrink towards 0 whatever the data say, so
  learned re-weighting is not to be judged there; `--set optimizer.decay_scope=MATRICES` leaves them alone.
* Rules and sizes for single methods belong to the method's name. Under preset `lra2020`, `pathfinder32/linear` has other
  sizes than `factorized` with `feature_map=ELU_PLUS_ONE`, which is the same point of the family. Both may share a column,
  whose notes name the rules set for single methods and each row's number of parameters; give both the same sizes with
  `--set` to compare the method alone.
* `train.last_batch=FULL_STEP`: an epoch's smaller last batch, where `train.drop_last` does not leave it out, is a full step,
  so its examples weigh more than the others'. `--set train.last_batch=BY_EXAMPLES` weighs all alike.
)";

constexpr char kEarlier[] = R"(
## Earlier versions

`--protocol NAME@VERSION` asks for one, as suites do whose results are on record. What they had where the present version has something else:

)";

constexpr char kNotImitated[] = R"(
## What is not imitated

What the originals do and a protocol here does not, with the reason.
)";

using Rules = std::map<std::string, std::string>;  // dotted path to value
using Row = std::vector<std::string>;

struct Protocol {
  ConfigFragment fragment;
  std::map<std::string, Rules> tasks;
  bool Has(absl::string_view task) const { return tasks.count(std::string(task)) > 0; }
};

Rules ToRules(const ExperimentConfig& config) {
  const auto leaves = LeafFields(config);
  return Rules(leaves.begin(), leaves.end());
}

absl::StatusOr<Protocol> LoadProtocol(const std::string& name) {
  Protocol protocol;
  LRA_ASSIGN_OR_RETURN(protocol.fragment, LoadFragment("protocols", name));
  for (const auto& [task, part] : protocol.fragment.task()) {
    ExperimentConfig rules = protocol.fragment.base();
    MergeConfig(part, &rules);
    protocol.tasks[task] = ToRules(rules);
  }
  return protocol;
}

absl::StatusOr<std::vector<Protocol>> LoadProtocols() {
  std::vector<Protocol> protocols;
  for (const std::string& name : ConfigNames("protocols")) {
    LRA_ASSIGN_OR_RETURN(Protocol protocol, LoadProtocol(name));
    protocols.push_back(std::move(protocol));
  }
  return protocols;
}

std::string Line(const Row& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

std::string Table(const Row& head, const std::vector<Row>& rows) {
  std::string text = Line(head) + Line(Row(head.size(), "---"));
  for (const Row& row : rows) text += Line(row);
  return text;
}

bool IsOneCycle(const Rules& rules) {
  const auto kind = rules.find("schedule.kind");
  return kind != rules.end() &&
         kind->second == ScheduleConfig::Kind_Name(ScheduleConfig::ONE_CYCLE);
}

std::string Value(const Rules& rules, const std::string& path) {
  const auto rule = rules.find(path);
  if (rule == rules.end()) return "–";
  return path == "optimizer.beta1" && IsOneCycle(rules) ? "by schedule" : rule->second;
}

std::set<std::string> Paths(const std::vector<Protocol>& protocols) {
  std::set<std::string> paths;
  for (const Protocol& protocol : protocols) {
    for (const auto& [task, rules] : protocol.tasks) {
      for (const auto& [path, value] : rules) paths.insert(path);
    }
  }
  return paths;
}

bool IsSameForEveryTask(const std::vector<Protocol>& protocols, const std::string& path) {
  return std::all_of(protocols.begin(), protocols.end(), [&](const Protocol& protocol) {
    std::set<std::string> values;
    for (const auto& [task, rules] : protocol.tasks) values.insert(Value(rules, path));
    return values.size() == 1;
  });
}

std::string Overview(const std::vector<Protocol>& protocols) {
  std::vector<Row> rows;
  for (const Protocol& protocol : protocols) {
    Row tasks;
    for (const std::string& task : TasksInOrder()) {
      if (protocol.Has(task)) tasks.push_back(task);
    }
    rows.push_back(
        {absl::StrCat("`", protocol.fragment.name(), "@", protocol.fragment.version(), "`"),
         protocol.fragment.description(), absl::StrJoin(tasks, " ")});
  }
  return Table({"protocol", "what it is", "tasks"}, rows);
}

std::string CommonRules(const std::vector<Protocol>& protocols) {
  Row head = {"rule"};
  for (const Protocol& protocol : protocols) head.push_back(protocol.fragment.name());
  std::vector<Row> rows;
  for (const std::string& path : Paths(protocols)) {
    if (!IsSameForEveryTask(protocols, path)) continue;
    Row row = {absl::StrCat("`", path, "`")};
    for (const Protocol& p : protocols) row.push_back(Value(p.tasks.begin()->second, path));
    rows.push_back(row);
  }
  return absl::StrCat("\n## Rules that do not depend on the task\n\n", Table(head, rows));
}

std::string TaskRules(const std::vector<Protocol>& protocols, absl::string_view task) {
  Row head = {"rule"};
  std::vector<const Rules*> columns;
  for (const Protocol& protocol : protocols) {
    if (!protocol.Has(task)) continue;
    head.push_back(protocol.fragment.name());
    columns.push_back(&protocol.tasks.at(std::string(task)));
  }
  if (columns.empty()) return "";
  std::vector<Row> rows;
  for (const std::string& path : Paths(protocols)) {
    if (IsSameForEveryTask(protocols, path)) continue;
    Row row = {absl::StrCat("`", path, "`")};
    for (const Rules* rules : columns) row.push_back(Value(*rules, path));
    if (std::any_of(row.begin() + 1, row.end(), [](const auto& v) { return v != "–"; })) {
      rows.push_back(row);
    }
  }
  return absl::StrCat("\n## ", task, "\n\n", Table(head, rows));
}

// What the task's runs under the protocol do in the preset's sizes, whatever the attention.
absl::StatusOr<Row> RunOf(const std::string& task, const std::string& preset,
                          const std::string& protocol) {
  ConfigBuilder builder(task);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(protocol));
  LRA_RETURN_IF_ERROR(builder.AddPreset(preset));
  const ExperimentConfig& config = builder.config();
  const TrainConfig& train = config.train();
  return Row{protocol,
             preset,
             absl::StrCat(train.steps()),
             absl::StrCat(train.batch_examples()),
             absl::StrCat(config.schedule().learning_rate()),
             absl::StrCat(WarmupSteps(config.schedule(), train.steps())),
             absl::StrCat(train.eval_every_steps()),
             absl::StrCat(config.view().max_length_tokens())};
}

// Presets whose runs are alike share a row; their names stand in its second cell.
void AddRun(const Row& run, std::vector<Row>* rows) {
  for (Row& row : *rows) {
    if (row[0] != run[0] || !std::equal(row.begin() + 2, row.end(), run.begin() + 2)) continue;
    absl::StrAppend(&row[1], " ", run[1]);
    return;
  }
  rows->push_back(run);
}

// What runs really do: a protocol's rules as each preset leaves them.
absl::StatusOr<std::string> RunsOfTask(const std::string& task) {
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> protocols, NamesForTask("protocols", task));
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> presets, NamesForTask("presets", task));
  std::vector<Row> rows;
  for (const std::string& protocol : protocols) {
    for (const std::string& preset : presets) {
      LRA_ASSIGN_OR_RETURN(const Row run, RunOf(task, preset, protocol));
      AddRun(run, &rows);
    }
  }
  if (rows.empty()) return "";
  return absl::StrCat("\n### ", task, "\n\n",
                      Table({"protocol", "presets", "steps", "batch", "learning rate",
                             "warm-up steps", "evaluated every", "longest input"},
                            rows));
}

// Where the rules of `earlier` are others than those of `current`; what does not hold for all of
// its tasks names those for which it does.
Row Differences(const Protocol& earlier, const Protocol& current) {
  std::map<std::string, Row> tasks;
  for (const auto& [task, rules] : earlier.tasks) {
    const Rules now = current.Has(task) ? current.tasks.at(task) : Rules();
    for (const std::string& path : Paths({earlier, current})) {
      if (Value(rules, path) != Value(now, path))
        tasks[absl::StrCat("`", path, "=", Value(rules, path), "`")].push_back(task);
    }
  }
  Row differences;
  for (const auto& [rule, of] : tasks) {
    const bool is_of_all = of.size() == earlier.tasks.size();
    differences.push_back(is_of_all ? rule
                                    : absl::StrCat(rule, " (", absl::StrJoin(of, ", "), ")"));
  }
  return differences;
}

absl::StatusOr<std::string> EarlierRules(const std::vector<Protocol>& protocols) {
  std::vector<Row> rows;
  for (const Protocol& current : protocols) {
    for (const std::string& version : EarlierVersions("protocols", current.fragment.name())) {
      LRA_ASSIGN_OR_RETURN(const Protocol earlier, LoadProtocol(version));
      rows.push_back({absl::StrCat("`", version, "`"), earlier.fragment.description(),
                      absl::StrJoin(Differences(earlier, current), " ")});
    }
  }
  if (rows.empty()) return "";
  return absl::StrCat(kEarlier, Table({"version", "what it is", "other rules"}, rows));
}

std::string Departures(const ConfigFragment& fragment) {
  if (fragment.not_imitated().empty()) return "";
  std::vector<Row> rows;
  for (const Departure& departure : fragment.not_imitated())
    rows.push_back({departure.what(), departure.reason()});
  return absl::StrCat("\n### ", fragment.name(), "\n\n",
                      Table({"the original", "why not here"}, rows));
}

std::string Assignments(const ExperimentConfig& part) {
  Row assignments;
  for (const auto& [path, value] : LeafFields(part)) {
    if (path != "attention.options")
      assignments.push_back(absl::StrCat("`", path, "=", value, "`"));
  }
  return absl::StrJoin(assignments, " ");
}

std::string MethodRules(const ConfigFragment& fragment) {
  const std::map<std::string, ExperimentConfig> parts(fragment.method().begin(),
                                                      fragment.method().end());
  if (parts.empty()) return "";
  std::vector<Row> rows;
  for (const auto& [key, part] : parts)
    rows.push_back({absl::StrCat("`", key, "`"), Assignments(part)});
  return absl::StrCat("\n### ", fragment.name(), "\n\n", Table({"task/attention", "sets"}, rows));
}

absl::StatusOr<std::string> PresetSizes(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const ConfigFragment preset, LoadFragment("presets", name));
  std::vector<Row> rows;
  if (const std::string base = Assignments(preset.base()); !base.empty())
    rows.push_back({"every task", base});
  for (const std::string& task : TasksInOrder()) {
    const auto part = preset.task().find(task);
    if (part != preset.task().end()) rows.push_back({task, Assignments(part->second)});
  }
  const std::map<std::string, ExperimentConfig> parts(preset.protocol().begin(),
                                                      preset.protocol().end());
  for (const auto& [protocol, part] : parts) {
    rows.push_back({absl::StrCat("under ", protocol), Assignments(part)});
  }
  return absl::StrCat("\n### ", name, "\n\n", preset.description(), ".\n\n",
                      Table({"for", "sets"}, rows));
}

}  // namespace

absl::StatusOr<std::string> ProtocolPage() {
  LRA_ASSIGN_OR_RETURN(const std::vector<Protocol> protocols, LoadProtocols());
  std::string page = absl::StrCat(kIntroduction, "\n", Overview(protocols), CommonRules(protocols));
  for (const std::string& task : TasksInOrder()) page += TaskRules(protocols, task);
  page += kRuns;
  for (const std::string& task : TasksInOrder()) {
    LRA_ASSIGN_OR_RETURN(const std::string runs, RunsOfTask(task));
    page += runs;
  }
  LRA_ASSIGN_OR_RETURN(const std::string earlier, EarlierRules(protocols));
  page += earlier;
  page += kConsequences;
  page += kNotImitated;
  for (const Protocol& protocol : protocols) page += Departures(protocol.fragment);
  page += "\n## What changes for one method\n";
  for (const Protocol& protocol : protocols) page += MethodRules(protocol.fragment);
  page += "\n## Presets\n";
  for (const std::string& name : ConfigNames("presets")) {
    LRA_ASSIGN_OR_RETURN(const std::string sizes, PresetSizes(name));
    page += sizes;
    LRA_ASSIGN_OR_RETURN(const ConfigFragment preset, LoadFragment("presets", name));
    page += absl::StrCat(preset.method().empty() ? "" : "\nSingle methods:\n", MethodRules(preset));
  }
  return page;
}

}  // namespace lra
