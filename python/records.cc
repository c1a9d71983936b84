// Scores of predictions, and tables of records.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "eval/external_record.h"
#include "eval/leaderboard.h"
#include "eval/metric.h"
#include "eval/published.h"
#include "eval/run_record.h"
#include "eval/score_text.h"
#include "eval/table_writer.h"
#include "lra/config.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "python/bindings.h"
#include "tasks/baseline.h"
#include "tasks/inventory.h"

namespace lra {
namespace {

namespace nb = nanobind;
using Strings = std::vector<std::string>;
constexpr double kConfidence = 0.95;

absl::StatusOr<std::string> ScoreJson(const Metric& metric, const RunRecord& record,
                                      const SplitResult& result, const std::string& directory) {
  const std::string& task = record.data().task();
  nlohmann::ordered_json json = {
      {"method", record.method()}, {"task", task}, {"split", result.split()}};
  const ScoredRun run = {directory, task};
  LRA_RETURN_IF_ERROR(AddScoreWithInterval(metric, result, run, kConfidence, &json));
  LRA_ASSIGN_OR_RETURN(const std::string text,
                       DescribeScoreWithInterval(metric, result, run, kConfidence));
  json["text"] = text;
  json["warnings"] = nlohmann::ordered_json::array();
  for (const std::string& warning : record.warning()) json["warnings"].push_back(warning);
  return JsonText(json, -1);
}

struct ScoredFiles {
  std::string directory, split, predictions, index;
  std::string protocol, preset;
  Strings sets;
  std::string name, description, command_line;
  uint32_t seed = 0;
  std::string out;  // a new folder
};

absl::StatusOr<std::string> Score(const ScoredFiles& files) {
  const ExternalRequest request = {
      .data_dir = files.directory,
      .view = {.protocol = files.protocol, .preset = files.preset, .sets = files.sets},
      .split = files.split};
  LRA_ASSIGN_OR_RETURN(ExternalRun run, OpenExternalRun(request));
  run.name = files.name;
  run.description = files.description;
  run.seed = files.seed;
  run.files = {.predictions = files.predictions, .index = files.index};
  run.command_line = files.command_line;
  LRA_ASSIGN_OR_RETURN(run.taken_names, TakenNames(files.directory));
  LRA_ASSIGN_OR_RETURN(const RunRecord record, WriteExternalRecord(files.out, run));
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
  return ScoreJson(*metric, record, *FindResult(record, run.split), files.out);
}

struct TableText {
  std::string text;
  Strings left_out, damaged;
};

absl::StatusOr<TableText> MakeTable(const Strings& folders, const Strings& published_names,
                                    const LeaderboardOptions& options, const std::string& format) {
  LRA_ASSIGN_OR_RETURN(const TableFormat kind, ParseTableFormat(format));
  std::vector<PublishedTable> published;
  for (const std::string& name : published_names) {
    LRA_ASSIGN_OR_RETURN(published.emplace_back(), LoadPublishedTable(name));
  }
  LRA_ASSIGN_OR_RETURN(const FoundRuns found, FindRunRecords(folders, Damaged::kSetAside));
  LRA_ASSIGN_OR_RETURN(const Leaderboard board, BuildLeaderboard(found, published, options));
  return TableText{WriteLeaderboard(board, kind), board.left_out, found.damaged};
}

TableText Table(const Strings& folders, const Strings& published, const std::string& split,
                const std::string& metric, const Strings& tasks, const Strings& methods,
                const std::string& format) {
  return ValueOrThrow(
      MakeTable(folders, published,
                {.split = split, .metric = metric, .tasks = tasks, .methods = methods}, format));
}

}  // namespace

void BindRecords(nb::module_& module) {
  nb::class_<TableText>(module, "TableText")
      .def_ro("text", &TableText::text)
      .def_ro("left_out", &TableText::left_out)
      .def_ro("damaged", &TableText::damaged);
  module.def(
      "score",
      [](const std::string& directory, const std::string& split, const std::string& predictions,
         const std::string& index, const std::string& protocol, const std::string& preset,
         const Strings& sets, const std::string& name, const std::string& description,
         uint32_t seed, const std::string& out) {
        return ValueOrThrow(Score({.directory = directory,
                                   .split = split,
                                   .predictions = predictions,
                                   .index = index,
                                   .protocol = protocol,
                                   .preset = preset,
                                   .sets = sets,
                                   .name = name,
                                   .description = description,
                                   .command_line = "lra.score (Python)",
                                   .seed = seed,
                                   .out = out}));
      },
      nb::arg("directory"), nb::arg("split"), nb::arg("predictions"), nb::arg("index"),
      nb::arg("protocol"), nb::arg("preset"), nb::arg("sets"), nb::arg("name"),
      nb::arg("description"), nb::arg("seed"), nb::arg("out"), ReleasesGil());
  module.def(
      "external_directory",
      [](const std::string& task, const std::string& name, uint32_t seed) {
        return ExternalDirectory("runs", task, name, seed);
      },
      nb::arg("task"), nb::arg("name"), nb::arg("seed"));
  module.def("table", &Table, nb::arg("folders"), nb::arg("published"), nb::arg("split"),
             nb::arg("metric"), nb::arg("tasks"), nb::arg("methods"), nb::arg("format"),
             ReleasesGil());
}

}  // namespace lra
