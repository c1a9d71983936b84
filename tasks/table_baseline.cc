#include "tasks/table_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lra/check.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::StatusOr<std::vector<int>> GroupsOf(const SplitView& split, const Grouping& grouping,
                                          int threads) {
  std::vector<int> groups(split.size());
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), split.size(), [&](int64_t i) {
    thread_local std::vector<int32_t> ids;
    if (grouping.groups > 1) split.Read(i, &ids);
    groups[i] = grouping.groups > 1 ? grouping.group_of(ids) : 0;
    LRA_CHECK(groups[i] >= 0 && groups[i] < grouping.groups) << groups[i];
    return absl::OkStatus();
  }));
  return groups;
}

// [groups, C] log-probabilities of the classes.
std::vector<float> Fit(const SplitView& train, const std::vector<int>& group_of, int groups) {
  const int classes = train.spec().classes();
  std::vector<int64_t> counts(static_cast<size_t>(groups) * classes, 1);
  std::vector<int64_t> totals(groups, classes);
  for (int64_t i = 0; i < train.size(); ++i) {
    ++counts[group_of[i] * classes + train.label(i)];
    ++totals[group_of[i]];
  }
  std::vector<float> table(counts.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const double total = static_cast<double>(totals[i / classes]);
    table[i] = static_cast<float>(std::log(static_cast<double>(counts[i]) / total));
  }
  return table;
}

std::vector<float> LookUp(const std::vector<float>& table, const std::vector<int>& groups,
                          int classes) {
  std::vector<float> logits;
  logits.reserve(groups.size() * classes);
  for (int group : groups) {
    const auto row = table.begin() + static_cast<int64_t>(group) * classes;
    logits.insert(logits.end(), row, row + classes);
  }
  return logits;
}

class TableBaseline : public BaselineMethod {
 public:
  TableBaseline(BaselineFacts facts, Grouping grouping)
      : BaselineMethod(std::move(facts)), grouping_(std::move(grouping)) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData& data,
                                         const BaselineOptions& options) const override {
    LRA_ASSIGN_OR_RETURN(const std::vector<int> train,
                         GroupsOf(data.train, grouping_, options.threads));
    const std::vector<float> table = Fit(data.train, train, grouping_.groups);
    BaselineLogits logits;
    for (const SplitView* split : data.scored) {
      LRA_ASSIGN_OR_RETURN(const std::vector<int> groups,
                           GroupsOf(*split, grouping_, options.threads));
      logits.push_back(LookUp(table, groups, data.train.spec().classes()));
    }
    return logits;
  }

  const Grouping* grouping() const override { return &grouping_; }

 private:
  const Grouping grouping_;
};

std::vector<int64_t> CountLabels(const SplitView& split) {
  std::vector<int64_t> counts(split.spec().classes(), 0);
  for (int64_t i = 0; i < split.size(); ++i) ++counts[split.label(i)];
  return counts;
}

// Whether guessing the split's own commonest class is better than guessing train's by more than
// chance: at most 0.5 %, about the level at which a run counts as above the majority class
// (eval/learned.h).
bool HasOtherMajority(const SplitView& train, const SplitView& split) {
  const std::vector<int64_t> trained = CountLabels(train), own = CountLabels(split);
  // The commonest class is the largest of several (Bonferroni); P(Z > z) < exp(-z^2 / 2) / 2.
  const double others = std::max<double>(1, static_cast<double>(own.size()) - 1);
  const double z = std::sqrt(2 * std::log(others / (2 * 0.005)));
  const auto guess = std::max_element(trained.begin(), trained.end()) - trained.begin();
  const auto right = static_cast<double>(own[guess]);
  const auto most = static_cast<double>(*std::max_element(own.begin(), own.end()));
  return most - right > z * std::sqrt(most + right);
}

// Where train and a scored split differ in their classes, train's majority is no bar: a constant
// answer could be above it.
class MajorityBaseline : public TableBaseline {
 public:
  explicit MajorityBaseline(BaselineFacts facts)
      : TableBaseline(std::move(facts), {.groups = 1, .group_of = nullptr}) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData& data,
                                         const BaselineOptions& options) const override {
    LRA_ASSIGN_OR_RETURN(BaselineLogits logits, TableBaseline::Predict(data, options));
    for (size_t i = 0; i < data.scored.size(); ++i) {
      const SplitView& split = *data.scored[i];
      if (!HasOtherMajority(data.train, split)) continue;
      const std::vector<int> groups(split.size(), 0);
      logits[i] = LookUp(Fit(split, groups, 1), groups, split.spec().classes());
    }
    return logits;
  }
};

}  // namespace

std::unique_ptr<BaselineMethod> MakeTableBaseline(BaselineFacts facts, Grouping grouping) {
  return std::make_unique<TableBaseline>(std::move(facts), std::move(grouping));
}

std::unique_ptr<BaselineMethod> MakeMajorityBaseline() {
  return std::make_unique<MajorityBaseline>(
      BaselineFacts{.name = "majority",
                    .description = "Class frequencies of the training split, or of a scored split "
                                   "whose commonest class is plainly another.",
                    .bar = "majority class",
                    .ignores = "the input"});
}

}  // namespace lra
