#include "eval/compare_methods.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/all_runs.h"
#include "eval/leaderboard_internal.h"
#include "eval/learned.h"
#include "eval/multiple.h"
#include "eval/wanted_rows.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using internal::ColumnRuns;
using internal::ComparableRuns;
using internal::Entry;
using internal::RunsIn;
using internal::TrainedOf;
using internal::WantedRow;

std::string SeedsOf(const std::vector<const Entry*>& runs) {
  return absl::StrJoin(runs, ", ", [](std::string* out, const Entry* run) {
    absl::StrAppend(out, run->record().seed());
  });
}

// Keeps the seeds that trained in both rows.
absl::Status KeepPairs(std::vector<const Entry*>* a, std::vector<const Entry*>* b) {
  const std::string seeds_a = SeedsOf(*a), seeds_b = SeedsOf(*b);
  const auto keep = [](std::vector<const Entry*>* runs, std::vector<const Entry*> others) {
    const auto has_no_pair = [&](const Entry* run) {
      return std::none_of(others.begin(), others.end(), [&](const Entry* other) {
        return other->record().seed() == run->record().seed();
      });
    };
    runs->erase(std::remove_if(runs->begin(), runs->end(), has_no_pair), runs->end());
  };
  keep(a, *b);
  keep(b, *a);
  if (static_cast<int64_t>(a->size()) >= kLeastPairedSeeds) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the seeds ", seeds_a, " and ", seeds_b,
                                                 " trained; at least ", kLeastPairedSeeds,
                                                 " must have trained in both rows (--paired)"));
}

bool IsSingle(const std::vector<const Entry*>& trained) {
  return trained.size() == 1 && trained.front()->record().kind() != RunRecord::BASELINE;
}

// A column in which both rows stand.
struct SharedColumn {
  const ColumnRuns* column = nullptr;
  size_t table = 0;
  std::vector<Entry> a, b;  // runs
  std::string label_a, label_b;
};

// The error says why nothing can be said of this column.
absl::StatusOr<TaskDifference> CompareOn(const ComparedColumn& name, const SharedColumn& shared,
                                         const CompareRequest& request) {
  const ColumnRuns& column = *shared.column;
  TaskDifference task;
  static_cast<ComparedColumn&>(task) = name;
  task.a = shared.label_a;
  task.b = shared.label_b;
  // A folder goes by its path where the methods have one name.
  if (task.a == task.b) task.a = request.a, task.b = request.b;
  std::vector<const Entry*> trained_a = TrainedOf(shared.a, column),
                            trained_b = TrainedOf(shared.b, column);
  task.trained_a = static_cast<int64_t>(trained_a.size());
  task.trained_b = static_cast<int64_t>(trained_b.size());
  task.runs_a = static_cast<int64_t>(shared.a.size());
  task.runs_b = static_cast<int64_t>(shared.b.size());
  task.is_single_a = IsSingle(trained_a);
  task.is_single_b = IsSingle(trained_b);
  if (task.trained_a < task.runs_a || task.trained_b < task.runs_b)
    task.learn_rate_p = FisherExactP(task.trained_a, task.runs_a, task.trained_b, task.runs_b);
  if (trained_a.empty() || trained_b.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no run of ", trained_a.empty() ? task.a : task.b, " trained (0 of ",
                     trained_a.empty() ? task.runs_a : task.runs_b, ")"));
  }
  if (request.is_paired) {
    LRA_RETURN_IF_ERROR(KeepPairs(&trained_a, &trained_b));
    for (const Entry* run : trained_a) task.paired_seeds.push_back(run->record().seed());
  }
  const RowRuns row_a = internal::RowOf(trained_a, column);
  const RowRuns row_b = internal::RowOf(trained_b, column);
  task.examples = std::min(row_a.examples, row_b.examples);
  if (request.is_paired && !(row_a.has_examples() && row_b.has_examples())) {
    return absl::InvalidArgumentError(
        "scores of examples are not on record for every run, which --paired needs");
  }
  const auto difference =
      CompareRows(row_a, row_b, {.confidence = request.confidence, .is_paired = request.is_paired});
  if (!difference) {
    return absl::FailedPreconditionError(absl::StrCat("nothing is known of single examples' ",
                                                      task.metric->name(),
                                                      ", and single runs have no other interval"));
  }
  task.difference = *difference;
  task.design = DesignOf(row_a, row_b, request.is_paired);
  return task;
}

// What was asked for, or a point.
std::optional<double> MarginOf(const CompareRequest& request, const Metric& metric) {
  if (request.margin || metric.difference_unit() != "points") return request.margin;
  return kDefaultMarginPoints;
}

void Decide(const CompareRequest& request, std::vector<TaskDifference>* tasks) {
  std::vector<double> p;
  for (const TaskDifference& task : *tasks) p.push_back(task.difference.p);
  const std::vector<double> corrected = HolmP(p);
  for (size_t i = 0; i < corrected.size(); ++i) {
    TaskDifference& task = (*tasks)[i];
    task.corrected_p = corrected[i];
    task.is_told_apart =
        corrected[i] <= 1 - request.confidence + 1e-12 && !task.difference.differs_on_too_few;
    task.smallest_difference = SmallestDifferenceOf(
        task.difference.estimate, kShownPower, OneOfTests(request.confidence, corrected.size()),
        task.metric->LargestDifference());
    task.margin = MarginOf(request, *task.metric);
    if (task.margin) {
      task.equivalence = TestEquivalence(task.difference.shown_estimate(),
                                         *task.margin / task.metric->traits().scale);
    }
  }
}

RowDifference AverageOf(const std::vector<TaskDifference>& tasks, double confidence) {
  std::vector<Estimate> parts;
  for (const TaskDifference& task : tasks) {
    parts.push_back(task.difference.shown_estimate());
    parts.back().mean = task.difference.estimate.mean;
  }
  RowDifference average;
  average.estimate = AverageEstimate(parts);
  average.interval = MeanInterval(average.estimate, confidence);
  average.p = TwoSidedP(average.estimate, 0);
  average.method = "average";
  return average;
}

absl::Status CheckRequest(const CompareRequest& request) {
  LRA_RETURN_IF_ERROR(CheckConfidence(request));
  if (request.margin && !(*request.margin > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--margin ", *request.margin, " is not above 0, e.g. 1"));
  }
  return absl::OkStatus();
}

// Why the rows stand in no common column.
absl::Status Incomparable(const CompareRequest& request,
                          const std::vector<std::vector<ColumnRuns>>& tables,
                          const std::vector<const ColumnRuns*>& with_a,
                          const std::vector<const ColumnRuns*>& with_b) {
  for (const auto* side : {&with_a, &with_b}) {
    if (!side->empty()) continue;
    return internal::NoRunOf(side == &with_a ? request.a : request.b, request, tables);
  }
  std::string why = "they share no task";
  for (const ColumnRuns* a : with_a) {
    for (const ColumnRuns* b : with_b) {
      if (a->task == b->task) why = internal::DescribeDifference({{*a}}, {*b});
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(request.a, " and ", request.b, " cannot be compared: ", why));
}

// All columns that have both rows; there is one.
absl::StatusOr<std::vector<SharedColumn>> FindShared(
    const CompareRequest& request, const WantedRow& a, const WantedRow& b,
    const std::vector<std::vector<ColumnRuns>>& tables) {
  std::vector<SharedColumn> shared;
  std::vector<const ColumnRuns*> with_a, with_b;
  for (size_t t = 0; t < tables.size(); ++t) {
    for (const ColumnRuns& column : tables[t]) {
      if (!request.task.empty() && column.task != request.task) continue;
      SharedColumn both;
      both.column = &column;
      both.table = t;
      LRA_ASSIGN_OR_RETURN(both.a, RunsIn(column, a, &both.label_a));
      LRA_ASSIGN_OR_RETURN(both.b, RunsIn(column, b, &both.label_b));
      if (!both.a.empty()) with_a.push_back(&column);
      if (!both.b.empty()) with_b.push_back(&column);
      if (!both.a.empty() && !both.b.empty()) shared.push_back(std::move(both));
    }
  }
  if (shared.empty()) return Incomparable(request, tables, with_a, with_b);
  return shared;
}

// Compares what can be compared; the error if nothing can.
absl::Status CompareAll(const std::vector<SharedColumn>& shared, MethodComparison* comparison) {
  std::vector<std::pair<size_t, const ColumnRuns*>> columns;
  for (const SharedColumn& both : shared) columns.emplace_back(both.table, both.column);
  const std::vector<ComparedColumn> names = internal::NameColumns(columns);
  absl::Status first;
  for (size_t i = 0; i < shared.size(); ++i) {
    absl::StatusOr<TaskDifference> task = CompareOn(names[i], shared[i], comparison->request);
    if (task.ok()) {
      comparison->tasks.push_back(*std::move(task));
      continue;
    }
    first.Update(task.status());
    comparison->not_compared.push_back({names[i], std::string(task.status().message())});
  }
  comparison->why_no_average = internal::WhyNoAverage(names, comparison->not_compared);
  if (!comparison->tasks.empty()) return absl::OkStatus();
  return absl::Status(first.code(), internal::DescribeUncompared(comparison->not_compared));
}

// The label that a row has in every column, or what was asked for.
std::string CommonLabel(const std::vector<TaskDifference>& tasks,
                        std::string TaskDifference::*label, const std::string& asked) {
  const std::string& first = tasks.front().*label;
  const bool is_common = std::all_of(
      tasks.begin(), tasks.end(), [&](const TaskDifference& task) { return task.*label == first; });
  return is_common ? first : asked;
}

}  // namespace

std::string ComparedColumn::WithSetting(absl::string_view name) const {
  return absl::StrCat(name, setting.empty() ? "" : absl::StrCat(" (", setting, ")"));
}

absl::Status CheckConfidence(const CompareRequest& request) {
  if (request.confidence > 0 && request.confidence < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("confidence ", request.confidence, " is not between 0 and 1, e.g. 0.95"));
}

absl::StatusOr<Design> OnlyDesign(const MethodComparison& comparison) {
  if (comparison.tasks.size() != 1) {
    const std::string tasks =
        absl::StrJoin(comparison.tasks, ", ", [](std::string* out, const TaskDifference& task) {
          absl::StrAppend(out, task.WithSetting(task.task));
        });
    return absl::InvalidArgumentError(
        absl::StrCat("both rows have the tasks ", tasks, "; choose one with --task",
                     comparison.tasks.front().setting.empty()
                         ? ""
                         : ", and of several settings one with folders of its runs in --runs"));
  }
  const TaskDifference& task = comparison.tasks.front();
  if (task.design) return *task.design;
  return absl::FailedPreconditionError(
      absl::StrCat(task.task, ": ", comparison.a, " and ", comparison.b,
                   " need at least two trained runs each, with scores of examples on record"));
}

absl::StatusOr<MethodComparison> CompareMethods(const CompareRequest& request) {
  LRA_RETURN_IF_ERROR(CheckRequest(request));
  LRA_ASSIGN_OR_RETURN(const WantedRow a, internal::FindWantedRow(request.a));
  LRA_ASSIGN_OR_RETURN(const WantedRow b, internal::FindWantedRow(request.b));
  LRA_ASSIGN_OR_RETURN(const ComparableRuns runs,
                       internal::FindComparableRuns(request, {request.a, request.b}));
  LRA_ASSIGN_OR_RETURN(const std::vector<SharedColumn> shared,
                       FindShared(request, a, b, runs.tables));
  MethodComparison comparison;
  comparison.request = request;
  LRA_RETURN_IF_ERROR(CompareAll(shared, &comparison));
  comparison.a = CommonLabel(comparison.tasks, &TaskDifference::a, request.a);
  comparison.b = CommonLabel(comparison.tasks, &TaskDifference::b, request.b);
  Decide(request, &comparison.tasks);
  if (comparison.tasks.size() > 1 && comparison.why_no_average.empty())
    comparison.average = AverageOf(comparison.tasks, request.confidence);
  return comparison;
}

}  // namespace lra
