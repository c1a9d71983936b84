// What `lra bench step` prints.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/cost.h"
#include "bench/report.h"
#include "bench/step_comparison.h"
#include "lra/json_text.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// The most that the table of a profile on a device shows.
constexpr int kMostKernels = 12;
constexpr size_t kMostNameCharacters = 90;

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

// What stands in a cell of a kernel's name. Template arguments may be long, and kernels differ in
// the last of them; namespaces and the types of a function's arguments say little.
std::string ShortName(std::string name) {
  absl::StrReplaceAll({{"void ", ""}, {"at::native::", ""}, {"(anonymous namespace)::", ""}},
                      &name);
  if (const size_t arguments = name.rfind(">("); arguments != std::string::npos)
    name.resize(arguments + 1);
  if (name.size() <= kMostNameCharacters) return name;
  const size_t head = kMostNameCharacters / 3, tail = kMostNameCharacters - head - 3;
  return absl::StrCat(name.substr(0, head), "...", name.substr(name.size() - tail));
}

std::vector<std::string> KernelRow(const std::string& name, double calls, double seconds,
                                   double all) {
  return {name, absl::StrFormat("%.4g", calls), Milliseconds(seconds),
          absl::StrFormat("%.0f", 100 * seconds / all)};
}

TextTable KernelsTable(const Contest& contest) {
  const BenchDeviceProfile& profile = contest.results.back().device_profile();
  double all = 0, other_calls = 0, other_seconds = 0;
  for (const BenchKernel& kernel : profile.kernels()) all += kernel.seconds();
  TextTable table;
  table.title = absl::StrFormat(
      "%s: %s of a step, by their own time; under the profiler it takes %s ms, in %.0f %% of which "
      "any of them runs",
      contest.label, profile.are_host_operators() ? "operators on the host" : "kernels and copies",
      Milliseconds(profile.step_seconds()), 100 * profile.busy_seconds() / profile.step_seconds());
  table.header = {profile.are_host_operators() ? "operator" : "kernel", "calls", "ms",
                  "% of these"};
  const int shown = std::min(kMostKernels, profile.kernels_size());
  for (int i = 0; i < profile.kernels_size(); ++i) {
    const BenchKernel& kernel = profile.kernels(i);
    if (i < shown) {
      table.rows.push_back(
          KernelRow(ShortName(kernel.name()), kernel.calls(), kernel.seconds(), all));
    } else {
      other_calls += kernel.calls();
      other_seconds += kernel.seconds();
    }
  }
  if (profile.kernels_size() > shown) {
    table.rows.push_back(KernelRow(absl::StrFormat("%d others", profile.kernels_size() - shown),
                                   other_calls, other_seconds, all));
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
    const BenchResult* last = LastMeasured(contest);
    if (last == nullptr) {
      absl::StrAppend(&text, "\n", contest.label, ": no profile: ", contest.results.back().reason(),
                      "\n");
      continue;
    }
    absl::StrAppend(&text, "\n",
                    ToMarkdown(last->has_device_profile() ? KernelsTable(contest)
                                                          : PiecesTable(comparison, contest)));
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
