// What `lra bench step` prints.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cost.h"
#include "bench/report.h"
#include "bench/step_comparison.h"
#include "lra/json_text.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

const Contest* Find(const std::vector<Contest>& contests, const std::string& label) {
  for (const Contest& contest : contests) {
    if (contest.label == label) return &contest;
  }
  return nullptr;
}

const BenchResult* LastMeasured(const Contest& contest) {
  const BenchResult* last = nullptr;
  for (const BenchResult& result : contest.results) {
    if (result.outcome() == BenchResult::MEASURED) last = &result;
  }
  return last;
}

int64_t LargestResident(const Contest& contest) {
  int64_t bytes = 0;
  for (const BenchResult& result : contest.results)
    bytes = std::max(bytes, result.resident_bytes());
  return bytes;
}

std::string RatioCell(const StepComparison& comparison, const Contest& contest) {
  const Contest* reference = Find(comparison.contests, contest.reference);
  if (reference == nullptr) return "";
  const auto ratio = RatioOfContests(contest, *reference);
  return ratio ? WithInterval(*ratio, 1, 2) : "–";
}

// The CPU time of a step, the median over repetitions; empty where a program does not say.
std::string CpuCell(const Contest& contest) {
  std::vector<double> seconds;
  for (const BenchResult& result : contest.results)
    if (result.cpu_seconds() > 0) seconds.push_back(result.cpu_seconds());
  return seconds.empty() ? "" : absl::StrFormat("%.1f", 1e3 * MedianOf(seconds));
}

// What only our own process can count.
std::vector<std::string> Counts(const BenchResult& result) {
  if (result.peak_device_bytes() > 0)
    return {absl::StrCat(Megabytes(double(result.peak_device_bytes())), " (device)"), "", ""};
  if (result.passes().peak_bytes() == 0) return {"", "", ""};
  return {
      Megabytes(double(result.passes().peak_bytes())),
      absl::StrFormat("%.1f", result.page_faults()),
      absl::StrFormat("%.0f (%s MB)", result.allocations(), Megabytes(result.allocated_bytes()))};
}

std::vector<std::string> Row(const StepComparison& comparison, const Contest& contest) {
  const BenchResult* last = LastMeasured(contest);
  if (last == nullptr) {
    const BenchResult& result = contest.results.back();
    return {contest.label, absl::StrCat(OutcomeText(result), ": ", result.reason())};
  }
  const MedianInterval seconds = SecondsOfContest(contest);
  const double tokens = double(comparison.base.tokens() * comparison.base.batch());
  std::vector<std::string> row = {contest.label,
                                  WithInterval(seconds, 1e3, 1),
                                  CpuCell(contest),
                                  absl::StrFormat("%.1f", tokens / seconds.median / 1e3),
                                  RatioCell(comparison, contest),
                                  absl::StrFormat("%.2f", double(LargestResident(contest)) / 1e9)};
  for (std::string& cell : Counts(*last)) row.push_back(std::move(cell));
  return row;
}

double PiecesSeconds(const BenchResult& result) {
  double seconds = 0;
  for (const BenchPiece& piece : result.pieces()) seconds += piece.seconds();
  return seconds;
}

TextTable PiecesTable(const StepComparison& comparison, const Contest& contest) {
  const BenchResult& result = contest.results.back();
  const double all = PiecesSeconds(result);
  TextTable table;
  table.title = absl::StrFormat(
      "%s: each piece by itself, forward and backward, all layers; together %s ms, the step %s ms",
      contest.label, Milliseconds(all), Milliseconds(MedianSeconds(result.passes())));
  table.header = {"piece", "ms", "% of pieces", "reached, of the bound"};
  for (const BenchPiece& piece : result.pieces()) {
    const PassCost cost = {piece.operations(), piece.moved_bytes()};
    table.rows.push_back(
        {piece.name(), Milliseconds(piece.seconds()),
         absl::StrFormat("%.0f", 100 * piece.seconds() / all),
         ShareText(cost, piece.seconds(), comparison.base.precision(), comparison.machine)});
  }
  return table;
}

// What was measured says best what the device is.
std::string DeviceText(const StepComparison& comparison) {
  for (const Contest& contest : comparison.contests) {
    const BenchResult* last = LastMeasured(contest);
    if (last != nullptr && !last->device().empty()) return last->device();
  }
  return comparison.base.device();
}

std::string Title(const StepComparison& comparison) {
  const BenchRequest& base = comparison.base;
  return absl::StrFormat(
      "%s, N = %d, B = %d, %d layers of width %d, MLP %d, %s%s%s",
      base.mode() == BenchRequest::FORWARD ? "Forward pass" : "Training step", base.tokens(),
      base.batch(), base.layers(), base.heads() * base.head_width(), base.mlp_width(),
      PrecisionName(base.precision()), base.padded() ? ", lengths from N to N / 2" : "",
      base.device().empty() ? "" : absl::StrCat(", on ", DeviceText(comparison)));
}

Json ContestJson(const StepComparison& comparison, const Contest& contest) {
  Json row = {{"label", contest.label}, {"seconds", ToJsonValue(SecondsOfContest(contest))}};
  if (const Contest* reference = Find(comparison.contests, contest.reference)) {
    row["reference"] = contest.reference;
    if (const auto ratio = RatioOfContests(contest, *reference)) row["ratio"] = ToJsonValue(*ratio);
  }
  row["results"] = Json::array();
  for (const BenchResult& result : contest.results) row["results"].push_back(ToJsonValue(result));
  return row;
}

}  // namespace

std::string StepTable(const StepComparison& comparison) {
  TextTable table;
  table.title = Title(comparison);
  table.header = {"step",        "ms (interval)", "CPU ms",      "ktokens/s",  "ratio (interval)",
                  "resident GB", "tensors MB",    "page faults", "allocations"};
  for (const Contest& contest : comparison.contests) table.rows.push_back(Row(comparison, contest));
  std::string text = ToMarkdown(table);
  for (const Contest& contest : comparison.contests) {
    const MedianInterval seconds = SecondsOfContest(contest);
    if (seconds.coverage == 0) continue;
    absl::StrAppendFormat(
        &text, "\nMedians of %d repetitions in turn; an interval holds the median with %.1f %%.\n",
        contest.results.size(), 100 * seconds.coverage);
    break;
  }
  for (const Contest& contest : comparison.profiles) {
    if (LastMeasured(contest) != nullptr)
      absl::StrAppend(&text, "\n", ToMarkdown(PiecesTable(comparison, contest)));
  }
  absl::StrAppend(&text, "\n", DescribeBenchMachine(comparison.machine), "\n");
  return text;
}

std::string StepJson(const StepComparison& comparison) {
  Json json = {{"machine", ToJsonValue(comparison.machine)},
               {"request", ToJsonValue(comparison.base)},
               {"rows", Json::array()},
               {"profiles", Json::array()}};
  for (const Contest& contest : comparison.contests)
    json["rows"].push_back(ContestJson(comparison, contest));
  for (const Contest& contest : comparison.profiles)
    json["profiles"].push_back(ContestJson(comparison, contest));
  return JsonText(json) + "\n";
}

}  // namespace lra
