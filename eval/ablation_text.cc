#include "eval/ablation_text.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/ablation_published.h"
#include "eval/difference_text.h"
#include "eval/locality_json.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/sha256.h"
#include "lra/text_table.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// "38.5 [36.2, 40.8] 4/5".
std::string ScoreText(const Metric& metric, const CellScore& score) {
  if (!score.mean) return absl::StrCat("FAIL 0/", score.runs);
  std::string text = metric.Number(*score.mean);
  if (score.interval) {
    const int more = metric.DecimalsFor((score.interval->high - score.interval->low) / 2);
    text = absl::StrCat(metric.Number(*score.mean, more), " [",
                        metric.Number(score.interval->low, more), ", ",
                        metric.Number(score.interval->high, more), "]");
  }
  if (score.trained < score.runs) absl::StrAppend(&text, " ", score.trained, "/", score.runs);
  if (score.trained == 1) absl::StrAppend(&text, " 1 run");
  return text;
}

std::string CellsTable(const AblationResult& result) {
  const Ablation& ablation = result.ablation;
  TextTable table;
  for (const AblationFactor& factor : ablation.factors) table.header.push_back(factor.name);
  for (const AblationTask& task : ablation.tasks)
    table.header.push_back(task.metric->Heading(task.task));
  for (int cell = 0; cell < CellCount(ablation.factors); ++cell) {
    std::vector<std::string>& row = table.rows.emplace_back();
    const std::vector<int> levels = LevelsOf(ablation.factors, cell);
    for (size_t f = 0; f < levels.size(); ++f) row.push_back(ablation.factors[f].levels[levels[f]]);
    for (const AblationTask& task : ablation.tasks)
      row.push_back(ScoreText(*task.metric, ScoreOf(task, cell, result.confidence)));
  }
  return ToMarkdown(table);
}

std::string VerdictText(const AblationEffect& effect) {
  if (!effect.estimate) return "not known";
  if (!effect.corrected_p) return "exploratory";
  return effect.is_told_apart ? "told apart" : "not told apart";
}

std::vector<std::string> EffectRow(const AblationResult& result, const AblationEffect& effect) {
  std::vector<std::string> row = {EffectText(result.ablation.factors, effect.plan),
                                  WhereText(effect)};
  if (effect.estimate) {
    row.push_back(SignedText(*effect.metric, effect.estimate->mean, effect.interval));
    row.push_back(absl::StrFormat("%.2g", effect.p));
    row.push_back(effect.corrected_p ? absl::StrFormat("%.2g", *effect.corrected_p) : "-");
  } else {
    row.insert(row.end(), {"-", "-", "-"});
  }
  row.push_back(absl::StrCat(effect.plan.matches));
  const bool is_of_tasks = effect.is_average() || !effect.less_task.empty();
  row.push_back(is_of_tasks ? "-" : absl::StrCat(effect.seeds.size()));
  row.push_back(VerdictText(effect));
  return row;
}

// A main effect on a task less that on another is an interaction.
EffectKind ShownKind(const AblationEffect& effect) {
  return effect.less_task.empty() ? effect.plan.kind : EffectKind::kInteraction;
}

std::string EffectsTable(const AblationResult& result, EffectKind kind, const char* title) {
  TextTable table{
      title, {"effect", "on", "difference", "p", "Holm", "matches", "seeds", "verdict"}, {}};
  for (const AblationEffect& effect : result.effects) {
    if (ShownKind(effect) == kind) table.rows.push_back(EffectRow(result, effect));
  }
  return table.rows.empty() ? "" : absl::StrCat("\n", ToMarkdown(table));
}

// "Factors, the reference first: ...", and what was scored.
std::string DesignText(const AblationResult& result) {
  std::vector<std::string> factors, tasks;
  for (const AblationFactor& factor : result.ablation.factors) {
    factors.push_back(absl::StrCat(factor.name, " (", absl::StrJoin(factor.levels, ", "), ")"));
  }
  for (const AblationTask& task : result.ablation.tasks) {
    const std::string blocks = BlocksText(task.examples(), task.block_examples);
    tasks.push_back(absl::StrCat(
        task.task, ", ", FormatCount(task.examples()), " ", result.ablation.split, " examples",
        blocks.empty() ? "" : absl::StrCat(", which depend on their neighbours, in ", blocks),
        ", seeds ", absl::StrJoin(task.seeds, ", ")));
  }
  return absl::StrCat("Factors, each with its reference first: ", absl::StrJoin(factors, "; "),
                      ". Scored: ", absl::StrJoin(tasks, "; "), ".\n\n");
}

// Over what the p of a main effect are corrected.
std::string CorrectedOverText(const Ablation& ablation) {
  if (ablation.pair_factor < 0) return "the factor's main effects";
  return absl::StrCat(
      "all pairs of the suite by this metric",
      ablation.factors.size() > 1 ? ", or another factor's main effects in them" : "");
}

std::string Legend(const AblationResult& result) {
  return absl::StrFormat(
      "\nDifferences are contrasts of runs of equal seed on the same examples, with their %g %% "
      "interval for new seeds and new examples. A main effect is the mean over all matched cells, "
      "which differ in its factor alone; an interaction is a difference of such differences. Holm: "
      "p corrected over %s, or over all interactions, of all tasks (of averages, over the "
      "averages). Simple effects are exploratory: p is not corrected, and they claim nothing.\n",
      100 * result.confidence, CorrectedOverText(result.ablation));
}

Json EffectJson(const AblationResult& result, const AblationEffect& effect) {
  Json json = {{"kind", EffectKindName(ShownKind(effect))},
               {"effect", EffectText(result.ablation.factors, effect.plan)},
               {"task", effect.task}};
  if (!effect.less_task.empty()) json["less_task"] = effect.less_task;
  json["metric"] = effect.metric->name();
  json["unit"] = effect.metric->stored_unit();
  json["matches"] = effect.plan.matches;
  if (!effect.is_average() && effect.less_task.empty()) {
    json["seeds"] = effect.seeds;
    json["dropped_seeds"] = effect.dropped_seeds;
  }
  for (const LevelChange& change : effect.plan.changes) {
    const AblationFactor& factor = result.ablation.factors[change.factor];
    json["changes"].push_back({{"factor", factor.name},
                               {"level", factor.levels[change.level]},
                               {"reference", factor.levels[0]}});
  }
  json["verdict"] = VerdictText(effect);
  if (effect.scores_alike) json["scores_alike"] = true;
  if (!effect.estimate) return json;
  json["difference"] = effect.estimate->mean;
  json["low"] = effect.interval.low;
  json["high"] = effect.interval.high;
  json["p"] = effect.p;
  if (effect.corrected_p) json["p_corrected"] = *effect.corrected_p;
  json["tests"] = effect.family_tests;
  json["seed_variance"] = effect.estimate->seed_variance;
  json["example_variance"] = effect.estimate->example_variance;
  if (!std::isinf(effect.estimate->seed_degrees)) json["nu"] = effect.estimate->seed_degrees;
  if (effect.smallest_difference) json["smallest_difference"] = *effect.smallest_difference;
  return json;
}

Json TaskJson(const AblationResult& result, const AblationTask& task) {
  const AblationFactors& factors = result.ablation.factors;
  Json json = {{"task", task.task},
               {"metric", task.metric->name()},
               {"examples", task.examples()},
               {"seeds", task.seeds},
               {"cells", Json::array()}};
  const int64_t blocks = CountBlocks(task.examples(), task.block_examples);
  if (blocks != task.examples()) json["blocks"] = blocks;
  if (task.locality) {
    json["locality"] = {{"split", task.locality->split},
                        {"examples", task.locality->examples},
                        {"windows", task.locality->windows}};
    if (task.locality->uniform)
      json["locality"]["equal_weights"] = LocalityAsJson(*task.locality->uniform);
  }
  for (int cell = 0; cell < CellCount(factors); ++cell) {
    Json one;
    const std::vector<int> levels = LevelsOf(factors, cell);
    for (size_t f = 0; f < levels.size(); ++f)
      one["levels"][factors[f].name] = factors[f].levels[levels[f]];
    const CellScore score = ScoreOf(task, cell, result.confidence);
    one["trained"] = score.trained;
    one["runs"] = score.runs;
    if (score.mean) one["mean"] = *score.mean;
    if (score.interval) one["low"] = score.interval->low, one["high"] = score.interval->high;
    if (task.locality && task.locality->cells[cell].mean)
      one["locality"] = LocalityAsJson(*task.locality->cells[cell].mean);
    json["cells"].push_back(std::move(one));
  }
  return json;
}

std::string UnitInPrint(const PublishedTable& published, const PrintedEffect& printed) {
  return printed.columns.empty() ? "" : ColumnOf(published, printed.columns.front()).unit();
}

// The table's numbers as they are printed, in its own unit: percent where ours are fractions.
Json PrintedJson(const AblationResult& result, const PublishedTable& published) {
  Json effects = Json::array();
  for (const PrintedEffect& printed : PrintedEffects(result, published)) {
    effects.push_back({{"effect", EffectText(result.ablation.factors, printed.ours->plan)},
                       {"task", printed.ours->task},
                       {"columns", printed.columns},
                       {"unit", UnitInPrint(published, printed)},
                       {"printed", std::strtod(printed.level.c_str(), nullptr)},
                       {"printed_reference", std::strtod(printed.reference.c_str(), nullptr)}});
  }
  return {{"table", published.name()},
          {"source", SourceText(published)},
          {"effects", std::move(effects)}};
}

// A field of EffectJson as one of CSV; empty where it is not there.
std::string CsvValue(const Json& effect, const char* field) {
  const auto value = effect.find(field);
  if (value == effect.end()) return "";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number_float()) return absl::StrFormat("%.10g", value->get<double>());
  if (value->is_array()) return absl::StrJoin(value->get<std::vector<uint32_t>>(), " ");
  return JsonText(*value, -1);
}

}  // namespace

std::string RunsFingerprint(const AblationReport& report) {
  Json designs = Json::array();
  for (const AblationResult& result : report.designs) {
    Json design = Json::array();
    for (const AblationFactor& factor : result.ablation.factors)
      design.push_back({factor.name, factor.levels});
    for (const AblationTask& task : result.ablation.tasks) {
      Json cells = Json::array();
      for (const std::vector<AblationRun>& runs : task.folders) {
        Json cell = Json::array();
        for (const AblationRun& run : runs) {
          if (run.fingerprint.empty()) return "";
          cell.push_back(run.fingerprint);
        }
        cells.push_back(std::move(cell));
      }
      if (cells.empty()) return "";
      design.push_back({task.task, std::move(cells)});
    }
    designs.push_back(std::move(design));
  }
  return Sha256Hex(JsonText(designs, -1));
}

std::string WriteAblation(const AblationReport& report) {
  std::string text = absl::StrCat("# Ablation: ", report.suite, "\n\n");
  if (!report.description.empty()) {
    const bool is_sentence =
        absl::string_view(".?!").find(report.description.back()) != absl::string_view::npos;
    absl::StrAppend(&text, report.description, is_sentence ? "" : ".", "\n\n");
  }
  for (const AblationResult& result : report.designs) {
    if (!result.ablation.title.empty())
      absl::StrAppend(&text, "## ", result.ablation.title, "\n\n");
    absl::StrAppend(&text, DesignText(result), CellsTable(result));
    for (const AblationTask& task : result.ablation.tasks) text += CellsLocalityText(result, task);
    absl::StrAppend(&text, "\n", absl::StrJoin(AblationWords(result), "\n"), "\n",
                    EffectsTable(result, EffectKind::kMain, "Main effects"),
                    EffectsTable(result, EffectKind::kInteraction, "Interactions"),
                    EffectsTable(result, EffectKind::kSimple, "Simple effects (exploratory)"),
                    Legend(result));
    for (const PublishedTable& published : report.published)
      text += PrintedEffectsText(result, published);
    if (&result != &report.designs.back()) text += "\n";
  }
  if (!report.notes.empty()) {
    absl::StrAppend(&text, "\n## How it was obtained\n\n");
    for (const std::string& note : report.notes)
      absl::StrAppend(&text, "- ", EscapeNote(note), "\n");
  }
  return text;
}

std::string WriteAblationCsv(const AblationReport& report) {
  constexpr const char* kFields[] = {"kind",
                                     "effect",
                                     "task",
                                     "less_task",
                                     "metric",
                                     "difference",
                                     "low",
                                     "high",
                                     "p",
                                     "p_corrected",
                                     "tests",
                                     "matches",
                                     "seeds",
                                     "dropped_seeds",
                                     "verdict",
                                     "seed_variance",
                                     "nu",
                                     "example_variance",
                                     "smallest_difference"};
  std::string text;
  for (const AblationResult& result : report.designs) {
    TextTable table{absl::StrCat(report.suite, result.ablation.title.empty() ? "" : ": ",
                                 result.ablation.title),
                    {std::begin(kFields), std::end(kFields)},
                    {}};
    for (const AblationEffect& effect : result.effects) {
      const Json json = EffectJson(result, effect);
      std::vector<std::string>& row = table.rows.emplace_back();
      for (const char* field : kFields) row.push_back(CsvValue(json, field));
    }
    std::string lines = ToCsv(table);
    if (!text.empty()) lines.erase(0, lines.find('\n') + 1);  // one header
    text += lines;
  }
  return text;
}

std::string WriteAblationJson(const AblationReport& report) {
  Json json = {
      {"suite", report.suite}, {"description", report.description}, {"designs", Json::array()}};
  for (const AblationResult& result : report.designs) {
    Json design = {{"title", result.ablation.title},  {"split", result.ablation.split},
                   {"confidence", result.confidence}, {"factors", Json::array()},
                   {"tasks", Json::array()},          {"effects", Json::array()},
                   {"words", AblationWords(result)}};
    for (const AblationFactor& factor : result.ablation.factors)
      design["factors"].push_back({{"name", factor.name}, {"levels", factor.levels}});
    for (const AblationTask& task : result.ablation.tasks)
      design["tasks"].push_back(TaskJson(result, task));
    for (const AblationEffect& effect : result.effects)
      design["effects"].push_back(EffectJson(result, effect));
    for (const PublishedTable& published : report.published)
      design["published"].push_back(PrintedJson(result, published));
    if (const std::string why = result.ablation.why_no_average(); !why.empty())
      design["no_average"] = why;
    json["designs"].push_back(std::move(design));
  }
  if (!report.notes.empty()) json["notes"] = report.notes;
  if (const std::string runs = RunsFingerprint(report); !runs.empty())
    json["runs_fingerprint"] = runs;
  return JsonText(json) + "\n";
}

}  // namespace lra
