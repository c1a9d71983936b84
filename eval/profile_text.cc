// How a profile is printed.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/difference_text.h"
#include "eval/profile.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/text_columns.h"

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

// Numbers end below each other. The first column of a line is the margin.
constexpr size_t kNumberCharacters = 8;

std::vector<std::string> LineOf(const Metric& metric, const ProfileRow& row) {
  std::vector<std::string> line = {"", row.name,
                                   PadLeft(FormatCount(row.examples), kNumberCharacters)};
  if (row.examples > 0) {
    line.push_back(PadLeft(metric.Text(row.value), kNumberCharacters));
    line.push_back(IntervalText(metric, row.interval));
  }
  return line;
}

std::string TableText(const Metric& metric, const ProfileTable& table) {
  std::vector<std::vector<std::string>> lines = {
      {"", table.name, PadLeft("examples", kNumberCharacters),
       PadLeft(metric.name(), kNumberCharacters),
       absl::StrFormat("%g %% interval", 100 * kProfileConfidence)}};
  for (const ProfileRow& row : table.rows) lines.push_back(LineOf(metric, row));
  return absl::StrCat("\nBy ", table.name, ": ", table.definition, ".\n\n", AlignedText(lines));
}

std::string LadderText(const Profile& profile) {
  const Metric& metric = *profile.metric;
  std::vector<std::vector<std::string>> lines = {{"", PadRight("baseline", 12),
                                                  PadLeft(metric.name(), kNumberCharacters),
                                                  "same answer as the run"}};
  for (const LadderStep& step : profile.ladder) {
    lines.push_back({"", step.name, PadLeft(metric.Text(step.value), kNumberCharacters),
                     absl::StrFormat("%.1f %% of examples", 100 * step.agreement)});
  }
  return absl::StrCat("\nThe score is ", LadderPlace(profile), ".\n\n", AlignedText(lines));
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
  if (profile.block_examples > 1)
    absl::StrAppend(&text, "\n", NeighboursText(profile.block_examples), "\n");
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
  if (profile.block_examples > 1) json["block_examples"] = profile.block_examples;
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
