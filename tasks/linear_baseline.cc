#include "tasks/linear_baseline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lra/parallel.h"
#include "lra/progress.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/linear_model.h"
#include "tasks/pair_features.h"

namespace lra {
namespace {

constexpr int64_t kBatchExamples = 64;
constexpr uint32_t kOrderSeed = 0;
// So few features of each example are kept in memory.
constexpr int64_t kFewFeatures = 16;

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

// Extracts the features of an example once and keeps them for the passes that follow.
class KeptFeatures : public FeatureExtractor {
 public:
  KeptFeatures(std::unique_ptr<FeatureExtractor> extractor, const BaselineData& data)
      : extractor_(std::move(extractor)) {
    kept_[&data.train].resize(data.train.size());
    kept_[&data.validation].resize(data.validation.size());
  }
  int64_t size() const override { return extractor_->size(); }
  // A pass asks for each example once, so no two threads meet at one.
  void Extract(const SplitView& split, int64_t example,
               std::vector<Feature>* features) const override {
    const auto kept = kept_.find(&split);
    if (kept == kept_.end()) return extractor_->Extract(split, example, features);
    std::vector<Feature>& of_example = kept->second[example];
    if (of_example.empty()) extractor_->Extract(split, example, &of_example);
    *features = of_example;
  }

 private:
  const std::unique_ptr<FeatureExtractor> extractor_;
  mutable std::map<const SplitView*, std::vector<std::vector<Feature>>> kept_;
};

int64_t CountCorrect(const SplitView& split, const std::vector<float>& logits) {
  const int classes = split.spec().classes();
  int64_t correct = 0;
  for (int64_t i = 0; i < split.size(); ++i) {
    const auto row = logits.begin() + i * classes;
    correct += std::max_element(row, row + classes) - row == split.label(i) ? 1 : 0;
  }
  return correct;
}

// Under view.split=TEST_AS_VALIDATION a choice on validation would be one on the test split.
bool ValidatesOnTest(const BaselineData& data) { return data.validation.stored_split() == "test"; }

class LinearBaseline : public BaselineMethod {
 public:
  LinearBaseline(BaselineFacts facts, float learning_rate, MakeFeatures make_features)
      : BaselineMethod(std::move(facts)),
        learning_rate_(learning_rate),
        make_features_(std::move(make_features)) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData& data,
                                         const BaselineOptions& options) const override {
    std::unique_ptr<FeatureExtractor> extractor = make_features_(data.train.spec());
    LRA_RETURN_IF_ERROR(extractor->Fit(data.train, options.threads));
    if (extractor->size() <= kFewFeatures)
      extractor = std::make_unique<KeptFeatures>(std::move(extractor), data);
    LinearModel model(extractor->size(), data.train.spec().classes(), learning_rate_);
    Progress progress({.label = facts().name,
                       .unit = "examples",
                       .total = kLinearPasses * data.train.size(),
                       .quiet = options.quiet});
    BaselineLogits best;
    int64_t best_correct = -1;
    const bool may_choose = !ValidatesOnTest(data);
    for (uint32_t pass = 0; pass < kLinearPasses; ++pass) {
      LRA_RETURN_IF_ERROR(TrainOnce(data.train, *extractor, pass, options, &progress, &model));
      if (!may_choose && pass + 1 < kLinearPasses) continue;
      LRA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                           PredictAll(model, data.validation, *extractor, options.threads));
      const int64_t correct = CountCorrect(data.validation, logits);
      if (correct <= best_correct) continue;
      best_correct = correct;
      best.clear();
      for (const SplitView* split : data.scored) {
        LRA_ASSIGN_OR_RETURN(best.emplace_back(),
                             PredictAll(model, *split, *extractor, options.threads));
      }
    }
    progress.Finish();
    return best;
  }

 private:
  // One pass in an order of its own.
  static absl::Status TrainOnce(const SplitView& train, const FeatureExtractor& extractor,
                                uint32_t pass, const BaselineOptions& options, Progress* progress,
                                LinearModel* model) {
    const std::vector<int64_t> order = Permutation(
        train.size(), RandomStream(kOrderSeed, RandomDomain::kExampleOrder, {pass, 0, 0}));
    int64_t done = pass * train.size();
    return ForEach(train, order, extractor, options.threads,
                   [&](int64_t example, absl::Span<const Feature> features) {
                     model->Train(features, train.label(example));
                     if (++done % 256 == 0) progress->Update(done);
                   });
  }

  const float learning_rate_;
  const MakeFeatures make_features_;
};

}  // namespace

std::unique_ptr<BaselineMethod> MakeLinearBaseline(BaselineFacts facts, float learning_rate,
                                                   MakeFeatures make_features) {
  return std::make_unique<LinearBaseline>(std::move(facts), learning_rate,
                                          std::move(make_features));
}

std::unique_ptr<BaselineMethod> MakeBagOfUnits() {
  return MakeLinearBaseline(
      {.name = "bag_of_units",
       .description = "Logistic regression on how often each unit (byte, code point, id) occurs.",
       .bar = "order",
       .ignores = "the order of the units"},
      0.01f, [](const TaskSpec& seen) { return std::make_unique<UnitFrequencies>(seen); });
}

std::unique_ptr<BaselineMethod> MakeNgramLinear(bool is_quick) {
  return MakeLinearBaseline(
      {.name = "ngram_linear",
       .description = "Logistic regression on which n-grams of 1 to 4 ids occur.",
       .bar = "n-grams",
       .ignores = "how n-grams of 1 to 4 units go together, and where they stand",
       .is_required = false,
       .is_quick = is_quick},
      0.5f, [](const TaskSpec& seen) { return std::make_unique<NgramFeatures>(seen.is_pair()); });
}

std::unique_ptr<BaselineMethod> MakeLengths() {
  return MakeLinearBaseline(
      {.name = "lengths",
       .description = "Logistic regression on the lengths of both texts and their difference.",
       .bar = "lengths",
       .ignores = "everything but the lengths of the texts",
       .is_required = false},
      0.05f, [](const TaskSpec&) { return std::make_unique<PairLengths>(); });
}

std::unique_ptr<BaselineMethod> MakeOverlap(bool is_quick) {
  return MakeLinearBaseline(
      {.name = "overlap",
       .description = "Logistic regression on how much of their n-grams of 1 to 8 ids the texts "
                      "share, rare ones weighted up.",
       .bar = "overlap",
       .ignores = "everything but how many n-grams the texts share, and how rare these are",
       .is_required = false,
       .is_quick = is_quick},
      0.05f, [](const TaskSpec&) { return std::make_unique<OverlapFeatures>(); });
}

std::unique_ptr<BaselineMethod> MakePixelLinear() {
  return MakeLinearBaseline({.name = "pixel_linear",
                             .description = "Logistic regression on the pixels.",
                             .bar = "single pixels",
                             .ignores = "how pixels go together"},
                            0.01f, [](const TaskSpec& seen) {
                              return std::make_unique<PixelFeatures>(seen.max_length_tokens());
                            });
}

std::vector<std::unique_ptr<BaselineMethod>> PixelBaselines() {
  std::vector<std::unique_ptr<BaselineMethod>> baselines;
  baselines.push_back(MakePixelLinear());
  return baselines;
}

std::vector<std::unique_ptr<BaselineMethod>> TextBaselines(bool is_pair) {
  std::vector<std::unique_ptr<BaselineMethod>> baselines;
  if (is_pair) baselines.push_back(MakeLengths());
  baselines.push_back(MakeBagOfUnits());
  baselines.push_back(MakeNgramLinear(/*is_quick=*/true));
  if (is_pair) baselines.push_back(MakeOverlap(/*is_quick=*/true));
  return baselines;
}

}  // namespace lra
