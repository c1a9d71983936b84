#include "bench/grid.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/record_file.h"
#include "bench/report.h"
#include "eval/machine.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

template <class Value>
absl::StatusOr<std::vector<Value>> ParseWords(
    const char* what, const std::vector<std::pair<std::string, Value>>& known,
    const std::vector<std::string>& words) {
  std::vector<Value> values;
  for (const std::string& word : SplitAtCommas(words)) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& entry) { return entry.first == word; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const auto& entry : known) names.push_back(entry.first);
      return UnknownNameError(what, word, names);
    }
    values.push_back(found->second);
  }
  return values;
}

// Batch, and how tables call what stays as it is while the length grows.
struct Regime {
  int64_t batch = 0, tokens_in_batch = 0;
  std::string name() const {
    return batch > 0 ? absl::StrCat("batch ", batch) : absl::StrCat(tokens_in_batch, " tokens");
  }
  int64_t BatchAt(int64_t tokens) const { return batch > 0 ? batch : tokens_in_batch / tokens; }
};

std::vector<Regime> RegimesOf(const GridPlan& plan) {
  std::vector<Regime> regimes;
  for (const int64_t batch : plan.batches) regimes.push_back({batch, 0});
  for (const int64_t tokens : plan.tokens_in_batch) regimes.push_back({0, tokens});
  return regimes;
}

// One method under one setting: a series of lengths.
void AddSeries(const GridPlan& plan, const BenchRequest& setting, const Regime& regime,
               std::vector<BenchRecord>* cells) {
  for (const int64_t tokens : plan.tokens) {
    BenchRecord record;
    record.set_regime(regime.name());
    BenchRequest* request = record.mutable_request();
    *request = setting;
    request->set_tokens(tokens);
    request->set_batch(regime.BatchAt(tokens));
    if (request->padded() && request->batch() < 2) continue;
    cells->push_back(std::move(record));
  }
}

void AddSettings(const GridPlan& plan, BenchRequest setting, std::vector<BenchRecord>* cells) {
  for (const NumericsConfig::Precision precision : plan.precisions) {
    for (const bool is_padded : plan.paddings) {
      for (const Regime& regime : RegimesOf(plan)) {
        const bool is_streaming = setting.mode() == BenchRequest::STREAMING;
        if (is_streaming && (is_padded || regime.tokens_in_batch > 0)) continue;
        setting.set_precision(precision);
        setting.set_padded(is_padded);
        for (const MethodChoice& method : plan.methods) {
          SetMethod(method, &setting);
          AddSeries(plan, setting, regime, cells);
        }
      }
    }
  }
}

std::string DescribeCell(const BenchRecord& record) {
  const BenchRequest& request = record.request();
  return absl::StrFormat("%s, %s, N = %d, B = %d", MethodLabel(request),
                         request.scope() == BenchRequest::STEP ? "model" : "operator",
                         request.tokens(), request.batch());
}

void Report(const GridRun& grid, size_t done, size_t all, const BenchRecord& record) {
  if (grid.is_quiet) return;
  const BenchResult& result = record.result();
  const std::string text = result.outcome() == BenchResult::MEASURED
                               ? Milliseconds(MedianSeconds(result.passes())) + " ms"
                               : absl::StrCat(OutcomeText(result), ": ", result.reason());
  std::fprintf(stderr, "%zu/%zu %s: %s\n", done, all, DescribeCell(record).c_str(), text.c_str());
}

// Whether longer sequences of a series would end in the same way.
bool IsFinal(const BenchResult& result) {
  return result.outcome() == BenchResult::OUT_OF_MEMORY ||
         result.outcome() == BenchResult::SKIPPED || result.outcome() == BenchResult::REFUSED;
}

// The outcome that follows from what the series has so far; unspecified where it must be measured.
BenchResult Foreseen(const std::vector<BenchRecord>& series, double limit_seconds) {
  BenchResult result;
  if (series.empty()) return result;
  const BenchRecord& last = series.back();
  if (IsFinal(last.result())) {
    result.set_outcome(last.result().outcome());
    result.set_reason(
        absl::StrCat("as at N = ", last.request().tokens(), ": ", last.result().reason()));
    if (last.result().reason().rfind("as at", 0) == 0) result.set_reason(last.result().reason());
    return result;
  }
  const std::string excess = ExpectedExcess(series, limit_seconds);
  if (excess.empty()) return result;
  result.set_outcome(BenchResult::SKIPPED);
  result.set_reason(excess);
  return result;
}

// Whether a cell was left out for a shorter limit than the one that holds now.
bool MayNowRun(const BenchRecord& record, double limit_seconds) {
  const double then = record.request().limit_seconds();
  return record.result().outcome() == BenchResult::SKIPPED && then > 0 &&
         (limit_seconds <= 0 || limit_seconds > then);
}

absl::StatusOr<std::map<std::string, BenchRecord>> RecordsOf(const std::string& path) {
  std::map<std::string, BenchRecord> there;
  if (!FileExists(path)) return there;
  LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFile(path));
  for (const BenchRecord& record : records) {
    // A failure may be of the moment, so that it is tried again.
    if (record.result().outcome() != BenchResult::FAILED) there[KeyOf(record)] = record;
  }
  return there;
}

using Records = std::map<std::string, BenchRecord>;

// All cells in order; `keep` gets those that are not `there`. Returns how many were run.
absl::StatusOr<int> Walk(const GridPlan& plan, const GridRun& grid, const CellRunner& run,
                         const Records& there,
                         const std::function<absl::Status(const BenchRecord&)>& keep) {
  const std::vector<BenchRecord> cells = ExpandGrid(plan);
  std::map<std::string, std::vector<BenchRecord>> series;
  int measured = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    BenchRecord record = cells[i];
    *record.mutable_machine() = grid.machine;
    std::vector<BenchRecord>& before = series[SeriesKey(record)];
    if (const auto found = there.find(KeyOf(record));
        found != there.end() && !MayNowRun(found->second, plan.base.limit_seconds())) {
      before.push_back(found->second);
      continue;
    }
    *record.mutable_result() = Foreseen(before, plan.base.limit_seconds());
    if (record.result().outcome() == BenchResult::OUTCOME_UNSPECIFIED) {
      *record.mutable_result() = run(record.request());
      ++measured;
    }
    record.set_unix_seconds(UnixSeconds());
    LRA_RETURN_IF_ERROR(keep(record));
    Report(grid, i + 1, cells.size(), record);
    before.push_back(std::move(record));
  }
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<BenchRequest::Scope>> ParseScopes(
    const std::vector<std::string>& words) {
  return ParseWords<BenchRequest::Scope>(
      "--scope", {{"operator", BenchRequest::OPERATOR}, {"model", BenchRequest::STEP}}, words);
}

absl::StatusOr<std::vector<BenchRequest::Mode>> ParseModes(const std::vector<std::string>& words) {
  return ParseWords<BenchRequest::Mode>("--mode",
                                        {{"forward", BenchRequest::FORWARD},
                                         {"training", BenchRequest::TRAINING},
                                         {"streaming", BenchRequest::STREAMING}},
                                        words);
}

absl::StatusOr<std::vector<bool>> ParsePaddings(const std::vector<std::string>& words) {
  return ParseWords<bool>("--padding", {{"none", false}, {"half", true}}, words);
}

absl::StatusOr<std::vector<NumericsConfig::Precision>> ParsePrecisions(
    const std::vector<std::string>& words) {
  return ParseWords<NumericsConfig::Precision>(
      "--dtype", {{"float32", NumericsConfig::FP32}, {"bfloat16", NumericsConfig::BF16}}, words);
}

std::vector<BenchRecord> ExpandGrid(const GridPlan& plan) {
  std::vector<BenchRecord> cells;
  for (const BenchRequest::Scope scope : plan.scopes) {
    for (const BenchRequest::Mode mode : plan.modes) {
      for (const int head_width : plan.head_widths) {
        BenchRequest setting = plan.base;
        setting.set_scope(scope);
        setting.set_mode(mode);
        setting.set_head_width(head_width);
        AddSettings(plan, setting, &cells);
      }
    }
  }
  return cells;
}

std::string ExpectedExcess(const std::vector<BenchRecord>& series, double limit_seconds) {
  if (series.size() < 2 || limit_seconds <= 0) return "";
  const BenchResult &last = series.back().result(), &before = series[series.size() - 2].result();
  if (last.outcome() != BenchResult::MEASURED || before.outcome() != BenchResult::MEASURED)
    return "";
  const double now = MedianSeconds(last.passes()), then = MedianSeconds(before.passes());
  const double next = now * now / then;
  return next > limit_seconds ? absl::StrFormat("about %.0f s", next) : "";
}

std::string SeriesKey(const BenchRecord& record) {
  BenchRecord key = record;
  key.mutable_request()->clear_tokens();
  key.mutable_request()->clear_batch();
  return KeyOf(key);
}

absl::StatusOr<std::vector<BenchRecord>> MeasureGrid(const GridPlan& plan, const GridRun& grid,
                                                     const CellRunner& run) {
  std::vector<BenchRecord> records;
  LRA_RETURN_IF_ERROR(Walk(plan, grid, run, {}, [&](const BenchRecord& record) {
                        records.push_back(record);
                        return absl::OkStatus();
                      }).status());
  return records;
}

absl::StatusOr<int> RunGrid(const GridPlan& plan, const GridRun& grid, const CellRunner& run) {
  LRA_ASSIGN_OR_RETURN(const auto there, RecordsOf(grid.path));
  return Walk(plan, grid, run, there,
              [&](const BenchRecord& record) { return AppendRecord(grid.path, record); });
}

}  // namespace lra
