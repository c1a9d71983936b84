#include "tasks/baseline.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/features.h"
#include "tasks/linear_model.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

constexpr char kMajority[] = "majority";

// --- Tables of frequencies ---

// Returns the number of the group that an example belongs to.
using Grouping = std::function<int(absl::Span<const int32_t>)>;

std::vector<int> Groups(const SplitView& split, const Grouping& grouping) {
  std::vector<int> groups(split.size());
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    groups[i] = grouping(ids);
  }
  return groups;
}

// [groups, C] log-probabilities of the classes, counted on `train`.
std::vector<float> FitTable(const SplitView& train, const std::vector<int>& group_of, int groups) {
  const int classes = train.spec().classes();
  std::vector<int64_t> counts(static_cast<size_t>(groups) * classes, 1);
  std::vector<int64_t> totals(groups, classes);
  for (int64_t i = 0; i < train.size(); ++i) {
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

BaselinePrediction Majority(const SplitView& train, const std::vector<const SplitView*>& scored) {
  BaselinePrediction result{kMajority, "Class frequencies of the training split.", {}};
  const std::vector<float> table = FitTable(train, std::vector<int>(train.size(), 0), 1);
  for (const SplitView* split : scored) {
    result.logits.push_back(
        LookUp(table, std::vector<int>(split->size(), 0), train.spec().classes()));
  }
  return result;
}

BaselinePrediction ByShortcut(const Task& task, const Shortcut& shortcut, const SplitView& train,
                              const std::vector<const SplitView*>& scored) {
  const Grouping grouping = [&task](absl::Span<const int32_t> ids) {
    return task.ShortcutValue(ids);
  };
  BaselinePrediction result{shortcut.name, shortcut.description, {}};
  const std::vector<float> table =
      FitTable(train, Groups(train, grouping), static_cast<int>(shortcut.values.size()));
  for (const SplitView* split : scored) {
    result.logits.push_back(LookUp(table, Groups(*split, grouping), train.spec().classes()));
  }
  return result;
}

// --- Linear models ---

constexpr int64_t kBatchExamples = 64;
constexpr uint32_t kOrderSeed = 0;

// Extracts features in parallel and passes them on in order.
absl::Status ForEach(const SplitView& split, const std::vector<int64_t>& order,
                     const FeatureExtractor& extractor, int threads,
                     const std::function<void(int64_t, absl::Span<const Feature>)>& body) {
  struct Batch {
    int64_t begin = 0;
    std::vector<std::vector<Feature>> features;
  };
  int64_t next = 0;
  const int64_t n = static_cast<int64_t>(order.size());
  return OrderedPipeline<int64_t, Batch>(
      ResolveThreads(threads),
      [&]() -> absl::StatusOr<std::optional<int64_t>> {
        if (next >= n) return std::nullopt;
        return std::exchange(next, next + kBatchExamples);
      },
      [&](int64_t begin) -> absl::StatusOr<Batch> {
        Batch batch{begin, std::vector<std::vector<Feature>>(std::min(kBatchExamples, n - begin))};
        for (size_t i = 0; i < batch.features.size(); ++i) {
          extractor.Extract(split, order[begin + static_cast<int64_t>(i)], &batch.features[i]);
        }
        return batch;
      },
      [&](const Batch& batch) {
        for (size_t i = 0; i < batch.features.size(); ++i) {
          body(order[batch.begin + static_cast<int64_t>(i)], batch.features[i]);
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<std::vector<float>> PredictAll(const LinearModel& model, const SplitView& split,
                                              const FeatureExtractor& extractor, int threads) {
  const int classes = split.spec().classes();
  std::vector<float> logits(split.size() * classes);
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), split.size(), [&](int64_t i) {
    std::vector<Feature> features;
    extractor.Extract(split, i, &features);
    model.Predict(features, logits.data() + i * classes);
    return absl::OkStatus();
  }));
  return logits;
}

int64_t CountCorrect(const SplitView& split, const std::vector<float>& logits) {
  const int classes = split.spec().classes();
  int64_t correct = 0;
  for (int64_t i = 0; i < split.size(); ++i) {
    const auto row = logits.begin() + i * classes;
    correct += std::max_element(row, row + classes) - row == split.label(i) ? 1 : 0;
  }
  return correct;
}

struct LinearBaseline {
  std::string name, description;
  float learning_rate = 0;
  std::unique_ptr<FeatureExtractor> extractor;
};

absl::StatusOr<BaselinePrediction> RunLinear(const LinearBaseline& baseline, const SplitView& train,
                                             const SplitView& validation,
                                             const std::vector<const SplitView*>& scored,
                                             const BaselineOptions& options) {
  const FeatureExtractor& extractor = *baseline.extractor;
  LinearModel model(extractor.size(), train.spec().classes(), baseline.learning_rate);
  Progress progress({.label = baseline.name,
                     .unit = "examples",
                     .total = kLinearPasses * train.size(),
                     .quiet = options.quiet});
  BaselinePrediction best{baseline.name, baseline.description, {}};
  int64_t best_correct = -1, done = 0;
  for (uint32_t pass = 0; pass < kLinearPasses; ++pass) {
    const std::vector<int64_t> order = Permutation(
        train.size(), RandomStream(kOrderSeed, RandomDomain::kExampleOrder, {pass, 0, 0}));
    LRA_RETURN_IF_ERROR(ForEach(train, order, extractor, options.threads,
                                [&](int64_t example, absl::Span<const Feature> features) {
                                  model.Train(features, train.label(example));
                                  if (++done % 256 == 0) progress.Update(done);
                                }));
    LRA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                         PredictAll(model, validation, extractor, options.threads));
    const int64_t correct = CountCorrect(validation, logits);
    if (correct <= best_correct) continue;
    best_correct = correct;
    best.logits.clear();
    for (const SplitView* split : scored) {
      LRA_ASSIGN_OR_RETURN(best.logits.emplace_back(),
                           PredictAll(model, *split, extractor, options.threads));
    }
  }
  progress.Finish();
  return best;
}

std::optional<LinearBaseline> LinearFor(const TaskSpec& spec) {
  if (spec.content() == TaskSpec::TEXT) {
    return LinearBaseline{"ngram_linear",
                          "Logistic regression on which n-grams of 1 to 4 ids occur.", 0.5f,
                          std::make_unique<NgramFeatures>(spec.is_pair())};
  }
  if (!IsImage(spec)) return std::nullopt;
  return LinearBaseline{"pixel_linear", "Logistic regression on the pixels.", 0.01f,
                        std::make_unique<PixelFeatures>(spec.max_length_tokens())};
}

// Validation and test, and the split that was asked for.
std::vector<std::string> SplitsToScore(const std::string& split) {
  std::vector<std::string> splits = {"validation", "test"};
  if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(split);
  return splits;
}

}  // namespace

absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(
    const Task& task, const SplitView& train, const SplitView& validation,
    const std::vector<const SplitView*>& scored, const BaselineOptions& options) {
  std::vector<BaselinePrediction> predictions;
  predictions.push_back(Majority(train, scored));
  if (const std::optional<Shortcut> shortcut = task.ShortcutInfo()) {
    predictions.push_back(ByShortcut(task, *shortcut, train, scored));
  }
  if (const std::optional<LinearBaseline> linear = LinearFor(train.spec())) {
    LRA_ASSIGN_OR_RETURN(BaselinePrediction prediction,
                         RunLinear(*linear, train, validation, scored, options));
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

std::vector<std::string> BaselineNames(const Task& task, const TaskSpec& spec) {
  std::vector<std::string> names = {kMajority};
  if (const std::optional<Shortcut> shortcut = task.ShortcutInfo()) names.push_back(shortcut->name);
  if (const std::optional<LinearBaseline> linear = LinearFor(spec)) names.push_back(linear->name);
  return names;
}

absl::StatusOr<std::vector<std::string>> BaselineNamesOf(const Manifest& manifest) {
  if (!TaskRegistry::Get().Has(manifest.spec().name())) return std::vector<std::string>();
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, TaskOf(manifest));
  return BaselineNames(*task, manifest.spec());
}

absl::StatusOr<BaselineResults> PredictBaselines(const BaselineRequest& request) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(request.task));
  BaselineResults results;
  LRA_ASSIGN_OR_RETURN(results.view, LoadView(request.task, request.view.protocol,
                                              request.view.preset, request.view.sets));
  const std::string data_dir =
      request.data_dir.empty() ? DefaultDataDirectory(request.task) : request.data_dir;
  LRA_RETURN_IF_ERROR(CheckDataOfTask(data_dir, request.task));
  results.splits = SplitsToScore(request.split);
  OpenOptions options{
      .splits = results.splits, .view = &results.view, .threads = request.options.threads};
  if (request.split != "train") options.splits.push_back("train");
  LRA_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open(data_dir, options));
  LRA_ASSIGN_OR_RETURN(const SplitView train, SplitView::Create(data, "train", results.view));
  std::vector<SplitView> splits;
  for (const std::string& name : results.splits) {
    LRA_ASSIGN_OR_RETURN(splits.emplace_back(), SplitView::Create(data, name, results.view));
    results.labels.push_back(Labels(splits.back()));
  }
  std::vector<const SplitView*> scored;
  for (const SplitView& split : splits) scored.push_back(&split);
  LRA_ASSIGN_OR_RETURN(results.predictions,
                       RunBaselines(*task, train, splits[0], scored, request.options));
  results.manifest = data.manifest();
  results.spec = train.spec();
  return results;
}

}  // namespace lra
