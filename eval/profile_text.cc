// How a profile is printed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/profile.h"
#include "lra/json_text.h"
#include "lra/progress.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNothingKnown[] =
    "the task names no way to sort its examples, or none that this data and view allow "
    "(--perturb runs the model itself, on texts and images)";

std::string IntervalText(const Metric& metric, const std::optional<Interval>& interval) {
  if (!interval) return "";
  return absl::StrFormat("[%s, %s]", metric.Number(interval->low), metric.Number(interval->high));
}

std::string RowText(const Metric& metric, const ProfileRow& row, size_t width) {
  std::string line =
      absl::StrFormat("  %-*s  %8s", static_cast<int>(width), row.name, FormatCount(row.examples));
  if (row.examples > 0) {
    absl::StrAppendFormat(&line, "  %8s  %s", metric.Text(row.value),
                          IntervalText(metric, row.interval));
  }
  return absl::StrCat(line, "\n");
}

std::string TableText(const Metric& metric, const ProfileTable& table) {
  size_t width = table.name.size();
  for (const ProfileRow& row : table.rows) width = std::max(width, row.name.size());
  std::string text =
      absl::StrFormat("\nBy %s: %s.\n\n  %-*s  %8s  %8s  %s\n", table.name, table.definition,
                      static_cast<int>(width), table.name, "examples", metric.name(),
                      absl::StrFormat("%g %% interval", 100 * kProfileConfidence));
  for (const ProfileRow& row : table.rows) absl::StrAppend(&text, RowText(metric, row, width));
  return text;
}

std::string LadderText(const Profile& profile) {
  const Metric& metric = *profile.metric;
  std::string text = absl::StrFormat("\nThe score is %s.\n\n  %-12s  %8s  same answer as the run\n",
                                     LadderPlace(profile), "baseline", metric.name());
  for (const LadderStep& step : profile.ladder) {
    absl::StrAppendFormat(&text, "  %-12s  %8s  %.1f %% of examples\n", step.name,
                          metric.Text(step.value), 100 * step.agreement);
  }
  return text;
}

Json RowJson(const ProfileRow& row) {
  Json json = {{"name", row.name}, {"examples", row.examples}};
  if (row.examples > 0) json["value"] = row.value;
  if (row.interval) json["interval"] = {row.interval->low, row.interval->high};
  return json;
}

}  // namespace

std::string ProfileText(const Profile& profile) {
  const Metric& metric = *profile.metric;
  std::string text = absl::StrFormat("%s %s %s: %s %s, %s examples\n", profile.task, profile.method,
                                     profile.split, metric.Text(profile.whole.value),
                                     IntervalText(metric, profile.whole.interval),
                                     FormatCount(profile.whole.examples));
  for (const ProfileTable& table : profile.tables) absl::StrAppend(&text, TableText(metric, table));
  if (!profile.ladder.empty()) absl::StrAppend(&text, LadderText(profile));
  if (profile.tables.empty() && profile.ladder.empty())
    absl::StrAppend(&text, "\nStored predictions cannot tell more: ", kNothingKnown, ".\n");
  return text;
}

std::string ProfileJson(const Profile& profile) {
  Json json = {{"task", profile.task},
               {"method", profile.method},
               {"split", profile.split},
               {"metric", profile.metric->name()},
               {"confidence", kProfileConfidence},
               {"whole", RowJson(profile.whole)},
               {"tables", Json::array()}};
  for (const ProfileTable& table : profile.tables) {
    Json rows = Json::array();
    for (const ProfileRow& row : table.rows) rows.push_back(RowJson(row));
    json["tables"].push_back(
        {{"by", table.name}, {"definition", table.definition}, {"rows", std::move(rows)}});
  }
  for (const LadderStep& step : profile.ladder) {
    json["ladder"].push_back(
        {{"name", step.name}, {"value", step.value}, {"agreement", step.agreement}});
  }
  if (!profile.ladder.empty()) json["place"] = LadderPlace(profile);
  return JsonText(json);
}

}  // namespace lra
