// What `lra compare` prints.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/compare_contrast.h"
#include "eval/compare_methods.h"
#include "eval/difference_text.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

std::string RunsText(const TaskDifference& task) {
  const auto side = [](int64_t trained, int64_t runs) {
    return trained == runs ? absl::StrCat(runs) : absl::StrCat(trained, "/", runs);
  };
  std::string text = absl::StrCat(side(task.trained_a, task.runs_a), " + ",
                                  side(task.trained_b, task.runs_b), " runs");
  if (task.difference.method == "McNemar")
    absl::StrAppend(&text, " (these two models: exact McNemar test)");
  if (task.difference.method == "paired") absl::StrAppend(&text, ", paired");
  if (task.difference.basis == Basis::kCounts)
    absl::StrAppend(&text, " (scores of examples are not on record: the widest that counts allow)");
  if (task.difference.basis == Basis::kSeeds)
    absl::StrAppend(&text, " (seeds only: scores of examples are not on record)");
  return text;
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
      comparison.a, " - ", comparison.b, ", ", metric.Heading(task.task), ": ",
      SignedText(metric, task.difference.estimate.mean, task.difference.interval), ", ",
      PText(task.difference.p),
      comparison.tasks.size() > 1 ? absl::StrCat(" (", PText(task.corrected_p), " over the tasks)")
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

Json TaskJson(const TaskDifference& task) {
  Json json = {{"task", task.task},        {"metric", task.metric->name()},
               {"runs_a", task.runs_a},    {"trained_a", task.trained_a},
               {"runs_b", task.runs_b},    {"trained_b", task.trained_b},
               {"examples", task.examples}};
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
  if (comparison.average) {
    absl::StrAppend(&text, comparison.a, " - ", comparison.b, ", average of these ",
                    comparison.tasks.size(), " tasks: ",
                    SignedText(*comparison.tasks.front().metric, comparison.average->estimate.mean,
                               comparison.average->interval),
                    ", ", PText(comparison.average->p), ".\n");
  }
  return text;
}

std::string WriteComparisonJson(const MethodComparison& comparison) {
  Json json = {{"a", comparison.a},
               {"b", comparison.b},
               {"split", comparison.request.split},
               {"confidence", comparison.request.confidence},
               {"tasks", Json::array()}};
  for (const TaskDifference& task : comparison.tasks) json["tasks"].push_back(TaskJson(task));
  if (comparison.average) AddDifference(*comparison.average, &json["average"]);
  return json.dump(2) + "\n";
}

std::string WriteContrasts(const ContrastAnalysis& analysis) {
  const size_t tests = analysis.tests();
  std::string text;
  for (const RowContrast& contrast : analysis.contrasts) {
    for (const TaskContrast& task : contrast.tasks) {
      absl::StrAppend(
          &text, contrast.text, ", ", task.metric->Heading(task.task), ": ",
          SignedText(*task.metric, task.effect.estimate.mean, task.effect.interval), ", ",
          PText(task.effect.p),
          tests > 1 ? absl::StrCat(" (", PText(task.corrected_p), " over ", tests, " tests)") : "",
          ", ", task.seeds.size(), " seeds",
          task.dropped_seeds.empty()
              ? ""
              : absl::StrCat(" (without ", absl::StrJoin(task.dropped_seeds, ", "),
                             ", which did not train in every row)"),
          ", ", task.is_told_apart ? "told apart from 0" : "not told apart from 0", ".\n");
    }
    if (!contrast.average) continue;
    absl::StrAppend(&text, contrast.text, ", average of these ", contrast.tasks.size(), " tasks: ",
                    SignedText(*contrast.tasks.front().metric, contrast.average->estimate.mean,
                               contrast.average->interval),
                    ", ", PText(contrast.average->p), ".\n");
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
      Json of_task = {{"task", task.task},
                      {"metric", task.metric->name()},
                      {"seeds", task.seeds},
                      {"dropped_seeds", task.dropped_seeds},
                      {"examples", task.examples}};
      AddDifference(task.effect, &of_task);
      of_task["p_corrected"] = task.corrected_p;
      of_task["told_apart"] = task.is_told_apart;
      one["tasks"].push_back(std::move(of_task));
    }
    if (contrast.average) AddDifference(*contrast.average, &one["average"]);
    json["contrasts"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace lra
