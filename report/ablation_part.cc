#include "report/ablation_part.h"

#include <cmath>
#include <limits>

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
    if (unit.empty() && metric != nullptr) unit = metric->difference_unit();  // an older file
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

void AddDesign(const std::string& suite, const Json& design, AblationPart* part) {
  const std::string own = TextField(design, "title");  // where a suite has several designs
  const std::string title = absl::StrCat(suite, suite.empty() || own.empty() ? "" : ": ", own);
  std::vector<Effect> effects;
  for (const Json& effect : Objects(design, "effects")) effects.emplace_back(effect);
  absl::StrAppend(&part->html, "<h3>", EscapeHtml(title), "</h3>\n<div class=\"design\"></div>\n",
                  HtmlList(Texts(design, "words")), EffectTable(title, effects));
  part->designs.push_back(FigureJson(title, effects));
}

void AddDesigns(const Json& json, AblationPart* part) {
  for (const Json& design : Objects(json, "designs"))
    AddDesign(TextField(json, "suite"), design, part);
}

}  // namespace

AblationPart ReadAblations(const std::vector<std::string>& folders) {
  AblationPart part;
  for (const std::string& path : FilesOutsideRuns(folders, ".json")) {
    if (const auto json = ReadJsonObject(path); json.ok()) AddDesigns(*json, &part);
  }
  return part;
}

bool HasAblations(const std::string& suite_folder, const std::vector<std::string>& folders) {
  if (!ReadAblations({suite_folder}).designs.empty()) return true;
  const std::string suite = FolderName(suite_folder);
  for (const std::string& path : FilesOutsideRuns(folders, ".json")) {
    const auto json = ReadJsonObject(path);
    if (json.ok() && !Objects(*json, "designs").empty() && TextField(*json, "suite") == suite)
      return true;
  }
  return false;
}

void AddAblation(const AblationReport& report, AblationPart* part) {
  AddDesigns(Json::parse(WriteAblationJson(report)), part);
}

}  // namespace lra
