// What `lra compare` prints.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/compare_contrast.h"
#include "eval/compare_methods.h"
#include "eval/difference_text.h"
#include "lra/json_text.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// "listops", or "text (bits_per_token in bits/token, lower is better)", with its setting.
std::string ColumnText(const ComparedColumn& column) {
  return column.WithSetting(column.metric->Heading(column.task));
}

// What a corrected p is over.
std::string FamilyText(const MethodComparison& comparison) {
  return comparison.tasks.front().setting.empty()
             ? "the tasks"
             : absl::StrCat("these ", comparison.tasks.size(), " comparisons");
}

// What follows the lines of columns that were compared: a line for each other one, and the average
// or why there is none.
std::string ClosingLines(absl::string_view what, const std::vector<UncomparedColumn>& not_compared,
                         const std::string& average, const std::string& why_no_average) {
  std::string text;
  for (const UncomparedColumn& column : not_compared) {
    absl::StrAppend(&text, what, ", ", ColumnText(column), ": not compared: ", column.reason,
                    ".\n");
  }
  if (!average.empty()) absl::StrAppend(&text, what, ", ", average, ".\n");
  if (!why_no_average.empty())
    absl::StrAppend(&text, what, ": no average: ", why_no_average, ".\n");
  return text;
}

// "average of these 3 tasks: +1.0 points [-2.0, +4.1], p = 0.39"; empty without one.
template <class Task>
std::string AverageClause(const std::vector<Task>& tasks,
                          const std::optional<RowDifference>& average) {
  if (!average) return "";
  const Metric& metric = *tasks.front().metric;  // they have one unit
  return absl::StrCat("average of these ", tasks.size(),
                      " tasks: ", SignedText(metric, average->estimate.mean, average->interval),
                      ", ", PText(average->p));
}

// ", in 538 blocks of 80 examples" where these took the place of examples, else "".
std::string InBlocks(const ComparedColumn& column, int64_t examples,
                     const RowDifference& difference) {
  if (difference.estimate.blocks == 0) return "";
  return absl::StrCat(", in ", BlocksText(examples, column.block_examples));
}

// " (of sinkhorn one trained model: its seeds are not covered)"; empty where both have several.
std::string SingleRunsText(const TaskDifference& task) {
  if (task.difference.method == "McNemar") return " (these two models: exact McNemar test)";
  if (task.is_single_a && task.is_single_b)
    return " (these two models: their seeds are not covered)";
  if (!task.is_single_a && !task.is_single_b) return "";
  return absl::StrCat(" (of ", task.is_single_a ? task.a : task.b,
                      " one trained model: its seeds are not covered)");
}

std::string RunsText(const TaskDifference& task) {
  const auto side = [](int64_t trained, int64_t runs) {
    return trained == runs ? absl::StrCat(runs) : absl::StrCat(trained, "/", runs);
  };
  std::string text = absl::StrCat(side(task.trained_a, task.runs_a), " + ",
                                  side(task.trained_b, task.runs_b), " runs", SingleRunsText(task));
  if (!task.paired_seeds.empty()) {
    const auto all = static_cast<int64_t>(task.paired_seeds.size());
    absl::StrAppend(&text, ", paired");
    if (all < task.trained_a || all < task.trained_b)
      absl::StrAppend(&text, " by seeds ", absl::StrJoin(task.paired_seeds, ", "), " alone");
  }
  if (task.difference.basis == Basis::kCounts)
    absl::StrAppend(&text, " (scores of examples are not on record: the widest that counts allow)");
  if (task.difference.basis == Basis::kSeeds)
    absl::StrAppend(&text, " (seeds only: scores of examples are not on record)");
  return absl::StrCat(text, InBlocks(task, task.examples, task.difference));
}

std::string EquivalenceText(const TaskDifference& task) {
  if (!task.equivalence) return "";
  return absl::StrFormat(
      "; %s within %s (%s)", task.equivalence->is_equivalent ? "equal" : "not shown to be equal",
      AmountText(absl::StrFormat("%g", *task.margin), task.metric->difference_unit()),
      PText(task.equivalence->p));
}

std::string TaskLine(const MethodComparison& comparison, const TaskDifference& task) {
  const Metric& metric = *task.metric;
  std::string line = absl::StrCat(
      task.a, " - ", task.b, ", ", ColumnText(task), ": ",
      SignedText(metric, task.difference.estimate.mean, task.difference.interval), ", ",
      PText(task.difference.p),
      comparison.tasks.size() > 1
          ? absl::StrCat(" (", PText(task.corrected_p), " over ", FamilyText(comparison), ")")
          : "",
      ", ", RunsText(task), ", ", task.is_told_apart ? "told apart" : "not told apart",
      EquivalenceText(task));
  if (task.smallest_difference) {
    const std::string smallest =
        absl::StrFormat("%.2g", metric.traits().scale * *task.smallest_difference);
    absl::StrAppendFormat(&line, "; %s would have been seen with %g %%",
                          AmountText(smallest, metric.difference_unit()), 100 * kShownPower);
  }
  if (task.learn_rate_p)
    absl::StrAppend(&line, "; how many trained: Fisher's exact ", PText(*task.learn_rate_p));
  return absl::StrCat(line, ".\n");
}

void AddDifference(const RowDifference& difference, Json* json) {
  (*json)["difference"] = difference.estimate.mean;
  (*json)["low"] = difference.interval.low;
  (*json)["high"] = difference.interval.high;
  (*json)["p"] = difference.p;
  (*json)["method"] = difference.method;
  (*json)["seed_variance"] = difference.estimate.seed_variance;
  (*json)["example_variance"] = difference.estimate.example_variance;
  if (!std::isinf(difference.estimate.seed_degrees))
    (*json)["nu"] = difference.estimate.seed_degrees;
}

// How many examples there are and, where blocks took their place, how many of these.
void AddExamples(int64_t examples, const RowDifference& difference, Json* json) {
  (*json)["examples"] = examples;
  if (difference.estimate.blocks > 0) (*json)["blocks"] = difference.estimate.blocks;
}

// Which column an object is about.
Json ColumnJson(const ComparedColumn& column) {
  Json json = {{"task", column.task}};
  if (!column.setting.empty()) json["setting"] = column.setting;
  json["metric"] = column.metric->name();
  return json;
}

// Columns without a comparison, and the average of the others or why there is none.
void AddClosing(const std::vector<UncomparedColumn>& not_compared,
                const std::optional<RowDifference>& average, const std::string& why_no_average,
                Json* json) {
  (*json)["not_compared"] = Json::array();
  for (const UncomparedColumn& column : not_compared) {
    Json one = ColumnJson(column);
    one["reason"] = column.reason;
    (*json)["not_compared"].push_back(std::move(one));
  }
  if (average) AddDifference(*average, &(*json)["average"]);
  if (!why_no_average.empty()) (*json)["no_average"] = why_no_average;
}

Json TaskJson(const TaskDifference& task) {
  Json json = ColumnJson(task);
  json["a"] = task.a;
  json["b"] = task.b;
  json["runs_a"] = task.runs_a;
  if (!task.paired_seeds.empty()) json["paired_seeds"] = task.paired_seeds;
  json["trained_a"] = task.trained_a;
  json["runs_b"] = task.runs_b;
  json["trained_b"] = task.trained_b;
  if (task.is_single_a) json["seeds_not_covered"].push_back("a");
  if (task.is_single_b) json["seeds_not_covered"].push_back("b");
  AddExamples(task.examples, task.difference, &json);
  AddDifference(task.difference, &json);
  json["p_corrected"] = task.corrected_p;
  json["told_apart"] = task.is_told_apart;
  if (task.smallest_difference) json["smallest_difference"] = *task.smallest_difference;
  if (task.learn_rate_p) json["learn_rate_p"] = *task.learn_rate_p;
  if (task.equivalence) {
    json["equivalence"] = {{"margin", *task.margin / task.metric->traits().scale},
                           {"low", task.equivalence->interval.low},
                           {"high", task.equivalence->interval.high},
                           {"p", task.equivalence->p},
                           {"equivalent", task.equivalence->is_equivalent}};
  }
  return json;
}

}  // namespace

std::string WriteComparison(const MethodComparison& comparison) {
  std::string text;
  for (const TaskDifference& task : comparison.tasks)
    absl::StrAppend(&text, TaskLine(comparison, task));
  return absl::StrCat(
      text,
      ClosingLines(absl::StrCat(comparison.a, " - ", comparison.b), comparison.not_compared,
                   AverageClause(comparison.tasks, comparison.average), comparison.why_no_average));
}

std::string WriteComparisonJson(const MethodComparison& comparison) {
  Json json = {{"a", comparison.a},
               {"b", comparison.b},
               {"split", comparison.request.split},
               {"confidence", comparison.request.confidence},
               {"tasks", Json::array()}};
  for (const TaskDifference& task : comparison.tasks) json["tasks"].push_back(TaskJson(task));
  AddClosing(comparison.not_compared, comparison.average, comparison.why_no_average, &json);
  return JsonText(json) + "\n";
}

std::string WriteContrasts(const ContrastAnalysis& analysis) {
  const size_t tests = analysis.tests();
  std::string text;
  for (const RowContrast& contrast : analysis.contrasts) {
    for (const TaskContrast& task : contrast.tasks) {
      absl::StrAppend(
          &text, contrast.text, ", ", ColumnText(task), ": ",
          SignedText(*task.metric, task.effect.estimate.mean, task.effect.interval), ", ",
          PText(task.effect.p),
          tests > 1 ? absl::StrCat(" (", PText(task.corrected_p), " over ", tests, " tests)") : "",
          ", ", task.seeds.size(), " seeds",
          task.dropped_seeds.empty()
              ? ""
              : absl::StrCat(" (without ", absl::StrJoin(task.dropped_seeds, ", "),
                             ", which did not train in every row)"),
          InBlocks(task, task.examples, task.effect), ", ",
          task.is_told_apart ? "told apart from 0" : "not told apart from 0", ".\n");
    }
    absl::StrAppend(&text, ClosingLines(contrast.text, contrast.not_compared,
                                        AverageClause(contrast.tasks, contrast.average),
                                        contrast.why_no_average));
  }
  return text;
}

std::string WriteContrastsJson(const ContrastAnalysis& analysis) {
  Json json = {{"split", analysis.request.split},
               {"confidence", analysis.request.confidence},
               {"contrasts", Json::array()}};
  for (const RowContrast& contrast : analysis.contrasts) {
    Json one = {{"contrast", contrast.text}, {"tasks", Json::array()}};
    for (const TaskContrast& task : contrast.tasks) {
      Json of_task = ColumnJson(task);
      of_task["seeds"] = task.seeds;
      of_task["dropped_seeds"] = task.dropped_seeds;
      AddExamples(task.examples, task.effect, &of_task);
      AddDifference(task.effect, &of_task);
      of_task["p_corrected"] = task.corrected_p;
      of_task["told_apart"] = task.is_told_apart;
      one["tasks"].push_back(std::move(of_task));
    }
    AddClosing(contrast.not_compared, contrast.average, contrast.why_no_average, &one);
    json["contrasts"].push_back(std::move(one));
  }
  return JsonText(json) + "\n";
}

}  // namespace lra
