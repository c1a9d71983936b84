#include "bench/attention_tables.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cost.h"
#include "bench/efficiency_series.h"
#include "bench/grid.h"
#include "bench/report.h"
#include "lra/json_text.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

constexpr int64_t kSpeedLengths[] = {1024, kLongestSpeedTokens};

bool IsMeasured(const BenchResult& result) { return result.outcome() == BenchResult::MEASURED; }

BenchRequest OperatorRequest(const AttentionPlan& plan, const MethodChoice& method,
                             int64_t tokens) {
  BenchRequest request;
  request.set_scope(BenchRequest::OPERATOR);
  request.set_mode(BenchRequest::TRAINING);
  SetMethod(method, &request);
  request.set_tokens(tokens);
  request.set_batch(1);
  request.set_precision(NumericsConfig::FP32);
  request.set_heads(8);
  request.set_head_width(64);
  request.set_threads(plan.threads);
  request.set_kernels(plan.kernels);
  request.set_passes(std::max(1, plan.repetitions - 1));
  request.set_warm_ups(1);
  request.set_limit_seconds(plan.cell_seconds);
  return request;
}

void Report(const AttentionPlan& plan, const BenchRequest& request, const char* what) {
  if (plan.is_quiet) return;
  std::fprintf(stderr, "%s%s: N = %lld\n", MethodLabel(request).c_str(), what,
               static_cast<long long>(request.tokens()));
}

void Grow(const AttentionPlan& plan, const MethodChoice& method, const CellRunner& run,
          AttentionTables* tables) {
  std::vector<BenchRecord> series;
  for (int64_t tokens = kFirstGrowthTokens; tokens <= plan.max_tokens; tokens *= 2) {
    BenchRecord record;
    *record.mutable_request() = OperatorRequest(plan, method, tokens);
    *record.mutable_machine() = tables->machine;
    const std::string excess = ExpectedExcess(series, plan.cell_seconds);
    if (excess.empty()) {
      Report(plan, record.request(), "");
      *record.mutable_result() = run(record.request());
    } else {
      record.mutable_result()->set_outcome(BenchResult::SKIPPED);
      record.mutable_result()->set_reason(excess);
    }
    series.push_back(record);
    if (!IsMeasured(record.result())) break;
  }
  tables->growth.insert(tables->growth.end(), series.begin(), series.end());
}

void Compare(const AttentionPlan& plan, const MethodChoice& method, const CellRunner& run,
             AttentionTables* tables) {
  for (const int64_t tokens : kSpeedLengths) {
    BenchRecord record;
    BenchRequest* request = record.mutable_request();
    *request = OperatorRequest(plan, method, tokens);
    request->set_batch(plan.speed_tokens / tokens);
    request->set_passes(plan.repetitions);
    request->set_with_composition(true);
    *record.mutable_machine() = tables->machine;
    Report(plan, *request, " against its composition");
    *record.mutable_result() = run(*request);
    tables->speed.push_back(record);
  }
}

std::string GrowthText(const AttentionTables& tables) {
  const std::vector<Series> all = GroupSeries(tables.growth);
  if (all.empty()) return "";
  return absl::StrCat(
      ToMarkdown(TimeTable("Forward and backward, B = 1, H = 8, D = 64: milliseconds, and the "
                           "exponent over the last four lengths",
                           all)),
      "\n",
      ToMarkdown(MemoryTable("The same: peak megabytes of tensors above the inputs (as a multiple "
                             "of what output and gradients take)",
                             all)));
}

std::vector<std::string> SpeedRow(const BenchRecord& record, const BenchMachine& machine) {
  const BenchResult& result = record.result();
  std::vector<std::string> row = {MethodLabel(record.request()), result.composition_name(),
                                  absl::StrCat(record.request().tokens())};
  if (!IsMeasured(result)) {
    row.push_back(absl::StrCat(OutcomeText(result), ": ", result.reason()));
    return row;
  }
  const double ours = MedianSeconds(result.passes());
  const double theirs = MedianSeconds(result.composition());
  const PassCost cost = {result.operations(), result.moved_bytes()};
  for (std::string cell : {absl::StrCat(result.batch()), Milliseconds(theirs), Milliseconds(ours),
                           absl::StrFormat("%.2f", theirs / ours),
                           Megabytes(double(result.composition().peak_bytes())),
                           Megabytes(double(result.passes().peak_bytes())),
                           absl::StrFormat("%.0e", result.difference()),
                           ShareText(cost, ours, record.request().precision(), machine)})
    row.push_back(std::move(cell));
  return row;
}

std::string SpeedText(const AttentionTables& tables) {
  if (tables.speed.empty()) return "";
  TextTable table;
  table.title =
      "Forward and backward beside a composition of LibTorch's operations (fewer examples where\n"
      "that would not fit): medians in turn; ratio = composition / lra; difference: largest one\n"
      "between the two outputs over the largest value, N = 512; reached: of the measured peak of\n"
      "products where the method's own products are the bound, of the copy's where moving inputs\n"
      "and outputs once is, or where its products are not counted";
  table.header = {
      "attention", "composition",    "N",      "B",          "composition ms",       "lra ms",
      "ratio",     "composition MB", "lra MB", "difference", "reached, of the bound"};
  for (const BenchRecord& record : tables.speed)
    table.rows.push_back(SpeedRow(record, tables.machine));
  return ToMarkdown(table);
}

}  // namespace

AttentionTables MeasureAttentions(const AttentionPlan& plan, const BenchMachine& machine,
                                  const CellRunner& run) {
  AttentionTables tables;
  tables.machine = machine;
  for (const MethodChoice& method : plan.methods) {
    if (!plan.skips_growth) Grow(plan, method, run, &tables);
    if (!plan.skips_speed) Compare(plan, method, run, &tables);
  }
  return tables;
}

std::string AttentionText(const AttentionTables& tables) {
  std::string text = GrowthText(tables);
  const std::string speed = SpeedText(tables);
  absl::StrAppend(&text, text.empty() || speed.empty() ? "" : "\n", speed, "\n",
                  DescribeBenchMachine(tables.machine), "\n");
  return text;
}

std::string AttentionJson(const AttentionTables& tables) {
  nlohmann::ordered_json json = {{"machine", ToJsonValue(tables.machine)},
                                 {"growth", nlohmann::ordered_json::array()},
                                 {"speed", nlohmann::ordered_json::array()}};
  const auto add = [&](const char* name, const std::vector<BenchRecord>& records) {
    for (BenchRecord record : records) {
      record.clear_machine();
      json[name].push_back(ToJsonValue(record));
    }
  };
  add("growth", tables.growth);
  add("speed", tables.speed);
  return JsonText(json) + "\n";
}

}  // namespace lra
