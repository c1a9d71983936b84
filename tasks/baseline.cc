#include "tasks/baseline.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/mapped_split.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Number of the group that an example falls into.
using Grouping = std::function<int(absl::Span<const uint16_t>)>;

std::vector<int> Groups(const internal::MappedSplit& split, const Grouping& grouping) {
  std::vector<int> groups(split.examples);
  std::vector<uint16_t> scratch;
  for (int64_t i = 0; i < split.examples; ++i) groups[i] = grouping(split.Tokens(i, &scratch));
  return groups;
}

// [groups, C] log-probabilities of each class, counted on `train`.
std::vector<float> FitTable(const internal::MappedSplit& train, const Grouping& grouping,
                            int groups, int classes) {
  std::vector<int64_t> counts(static_cast<size_t>(groups) * classes, 1);
  std::vector<int64_t> totals(groups, classes);
  const std::vector<int> group_of = Groups(train, grouping);
  for (int64_t i = 0; i < train.examples; ++i) {
    LRA_CHECK(group_of[i] >= 0 && group_of[i] < groups) << group_of[i];
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

std::vector<float> Predict(const internal::MappedSplit& train, const internal::MappedSplit& split,
                           const Grouping& grouping, int groups, int classes) {
  const std::vector<float> table = FitTable(train, grouping, groups, classes);
  std::vector<float> logits;
  logits.reserve(split.examples * classes);
  for (int group : Groups(split, grouping)) {
    const auto row = table.begin() + static_cast<int64_t>(group) * classes;
    logits.insert(logits.end(), row, row + classes);
  }
  return logits;
}

}  // namespace

absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(const Task& task, const Dataset& data,
                                                             absl::string_view split) {
  const internal::MappedSplit* train = data.split("train");
  const internal::MappedSplit* scored = data.split(split);
  if (train == nullptr || scored == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        data.directory(), ": baselines need the splits train and ", split, " to be open"));
  }
  const int classes = data.spec().classes();
  std::vector<BaselinePrediction> predictions;
  predictions.push_back(
      {"majority", "Class frequencies of the training split.",
       Predict(
           *train, *scored, [](absl::Span<const uint16_t>) { return 0; }, 1, classes)});
  const std::optional<Shortcut> shortcut = task.ShortcutInfo();
  if (!shortcut.has_value()) return predictions;
  predictions.push_back(
      {shortcut->name, shortcut->description,
       Predict(
           *train, *scored,
           [&task](absl::Span<const uint16_t> tokens) { return task.ShortcutValue(tokens); },
           static_cast<int>(shortcut->values.size()), classes)});
  return predictions;
}

}  // namespace lra
