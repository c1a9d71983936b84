#include "report/ablation_part.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "eval/ablation_text.h"
#include "eval/metric.h"
#include "eval/run_folders.h"
#include "eval/table_html.h"
#include "lra/json_text.h"
#include "report/folder_files.h"
#include "report/thin_curve.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kRunsFingerprint[] = "runs_fingerprint";

double Number(const Json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_number() ? field->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

// The elements of a field that are objects.
std::vector<Json> Objects(const Json& object, const char* name) {
  std::vector<Json> objects;
  const auto field = object.find(name);
  if (field == object.end() || !field->is_array()) return objects;
  for (const Json& element : *field) {
    if (element.is_object()) objects.push_back(element);
  }
  return objects;
}

std::vector<std::string> Texts(const Json& object, const char* name) {
  std::vector<std::string> texts;
  const auto field = object.find(name);
  if (field == object.end() || !field->is_array()) return texts;
  for (const Json& element : *field) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
}

// Whether an effect can be of that size; what is larger is no number that somebody measured.
bool IsAmount(double value) { return std::isfinite(value) && std::abs(value) < 1e9; }

// The tasks that an effect is on, in words.
std::string Where(const Json& json) {
  AblationEffect effect;
  effect.task = TextField(json, "task");
  effect.less_task = TextField(json, "less_task");
  return WhereText(effect);
}

// An effect as people read it. Its numbers are in the metric's own scale.
struct Effect {
  explicit Effect(const Json& json)
      : kind(TextField(json, "kind")),
        name(TextField(json, "effect")),
        task(Where(json)),
        verdict(TextField(json, "verdict")),
        p(Number(json, "p_corrected")) {
    const auto found = FindMetric(TextField(json, "metric"));
    metric = found.ok() ? *found : nullptr;
    unit = TextField(json, "unit");
    // The file's numbers are of stored_unit(), fractions, and are shown as points. Older files name
    // no unit, and a metric that a task gives another ("bits/dim") keeps that.
    if (metric != nullptr && (unit.empty() || unit == metric->stored_unit()))
      unit = metric->difference_unit();
    difference = Number(json, "difference");
    low = Number(json, "low");
    high = Number(json, "high");
  }
  bool is_known() const {
    return metric != nullptr && IsAmount(difference) && IsAmount(low) && IsAmount(high);
  }
  std::string Text() const {
    if (!is_known()) return "-";
    const int more = metric->DecimalsFor((high - low) / 2);
    return absl::StrCat(difference > 0 ? "+" : "", metric->Number(difference, more), " [",
                        metric->Number(low, more), ", ", metric->Number(high, more), "] ", unit);
  }

  std::string kind, name, task, verdict, unit;
  double difference, low, high, p;
  const Metric* metric;
};

std::string EffectTable(const std::string& title, const std::vector<Effect>& effects) {
  std::vector<std::vector<std::string>> rows;
  for (const Effect& effect : effects) {
    const std::string p = std::isfinite(effect.p) ? JsonText(ShortNumber(effect.p), -1) : "-";
    rows.push_back({effect.name, effect.kind, effect.task, effect.Text(), p, effect.verdict});
  }
  return HtmlTextTable(title, {"effect", "kind", "task", "difference", "corrected p", "verdict"},
                       rows);
}

Json FigureJson(const std::string& title, const std::vector<Effect>& effects) {
  Json shown = Json::array();
  std::string unit;
  for (const Effect& effect : effects) {
    if (!effect.is_known() || effect.kind == "simple") continue;
    const double scale = effect.metric->traits().scale;
    unit = unit.empty() || unit == effect.unit ? effect.unit : effect.metric->difference_unit();
    shown.push_back({{"label", absl::StrCat(effect.name, " (", effect.task, ")")},
                     {"value", ShortNumber(scale * effect.difference)},
                     {"low", ShortNumber(scale * effect.low)},
                     {"high", ShortNumber(scale * effect.high)}});
  }
  return {{"title", title}, {"unit", unit}, {"effects", std::move(shown)}};
}

void AddDesign(const std::string& suite, const Json& design, absl::string_view remark,
               AblationPart* part) {
  const std::string own = TextField(design, "title");  // where a suite has several designs
  const std::string title = absl::StrCat(suite, suite.empty() || own.empty() ? "" : ": ", own);
  std::vector<Effect> effects;
  for (const Json& effect : Objects(design, "effects")) effects.emplace_back(effect);
  absl::StrAppend(&part->html, "<h3>", EscapeHtml(title), "</h3>\n");
  if (!remark.empty()) absl::StrAppend(&part->html, "<p>", EscapeHtml(remark), "</p>\n");
  absl::StrAppend(&part->html, "<div class=\"design\"></div>\n", HtmlList(Texts(design, "words")),
                  EffectTable(title, effects));
  part->designs.push_back(FigureJson(title, effects));
}

bool IsBelow(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
  const fs::path way = place.lexically_relative(fs::weakly_canonical(folder, error));
  return !error && !way.empty() && *way.begin() != "..";
}

// Whether somebody who finds the file takes it for one about a suite of the page.
bool IsOfSuiteHere(const std::string& path, const Json& json,
                   const std::vector<std::string>& suites) {
  return std::any_of(suites.begin(), suites.end(), [&](const std::string& suite) {
    return IsBelow(path, suite) || FolderName(suite) == TextField(json, "suite");
  });
}

std::string WhyNotShown(const std::string& path, const Json& json) {
  return absl::StrCat(
      path, ": not shown: ",
      TextField(json, kRunsFingerprint).empty()
          ? "it does not say which runs its effects are of"
          : "its effects are of other runs, or other records of them, than those here",
      "; `lra ablate SUITE --out ", path, "` writes it anew");
}

}  // namespace

void AddAblationJson(const nlohmann::ordered_json& json, absl::string_view remark,
                     AblationPart* part) {
  for (const Json& design : Objects(json, "designs"))
    AddDesign(TextField(json, "suite"), design, remark, part);
}

AblationPart MakeAblations(const AblationSources& sources, std::vector<std::string>* problems) {
  AblationPart part;
  std::map<std::string, bool> has_file;  // of computed effects, by their runs
  for (const AblationReport& report : sources.computed) has_file[RunsFingerprint(report)] = false;
  has_file.erase("");
  for (const std::string& path : FilesOutsideRuns(sources.folders, ".json")) {
    const auto json = ReadJsonObject(path);
    if (!json.ok() || Objects(*json, "designs").empty()) continue;
    const auto computed = has_file.find(TextField(*json, kRunsFingerprint));
    if (computed != has_file.end()) {
      computed->second = true;
      AddAblationJson(*json, "", &part);
    } else if (IsOfSuiteHere(path, *json, sources.suites)) {
      problems->push_back(WhyNotShown(path, *json));
    } else {
      AddAblationJson(*json, "What a file says, of runs that are not on this page.", &part);
    }
  }
  for (const AblationReport& report : sources.computed) {
    const auto file = has_file.find(RunsFingerprint(report));
    if (file == has_file.end() || !file->second)
      AddAblationJson(Json::parse(WriteAblationJson(report)), "", &part);
  }
  return part;
}

}  // namespace lra
