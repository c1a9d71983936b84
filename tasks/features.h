// The features that linear baselines read from an example: how often its units occur, n-grams of
// its ids, or its pixels.
#ifndef LRA_TASKS_FEATURES_H_
#define LRA_TASKS_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "datasets/split_view.h"
#include "tasks/linear_model.h"

namespace lra {

// Extract is safe for concurrent use.
class FeatureExtractor {
 public:
  virtual ~FeatureExtractor() = default;
  // Learns what Extract needs to know of the training split, and is called once before it.
  virtual absl::Status Fit(const SplitView& train, int threads) { return absl::OkStatus(); }
  // Features are numbered 0 .. size()-1.
  virtual int64_t size() const = 0;
  // Replaces *features by those of one example.
  virtual void Extract(const SplitView& split, int64_t example,
                       std::vector<Feature>* features) const = 0;
};

// Features that every example has, standardised over the training examples: (x - mean) / standard
// deviation, at most 5 either way. Those that all training examples have alike are left out.
class StandardisedFeatures : public FeatureExtractor {
 public:
  explicit StandardisedFeatures(int64_t features)
      : means_(features, 0.0f), scales_(features, 1.0f) {}
  absl::Status Fit(const SplitView& train, int threads) override;
  int64_t size() const override { return static_cast<int64_t>(means_.size()); }
  void Extract(const SplitView& split, int64_t example,
               std::vector<Feature>* features) const override;

 protected:
  // [features] as they are before they are standardised.
  virtual std::vector<float> Values(const SplitView& split, int64_t example) const = 0;

 private:
  std::vector<float> means_, scales_;  // [features]; a scale of 0 leaves the feature out
};

// The share of each id among the ids of the example. For a pair, those of the first text, of the
// second, and the absolute differences of both.
class UnitFrequencies : public StandardisedFeatures {
 public:
  // `seen` is the specification under the view: ids are below its vocabulary_size.
  explicit UnitFrequencies(const TaskSpec& seen);

 protected:
  std::vector<float> Values(const SplitView& split, int64_t example) const override;

 private:
  const int64_t vocabulary_;
  const bool is_pair_;
};

// Which n-grams of 1 to 4 ids occur in the example, hashed into 2^20 buckets. Each that occurs has
// the value 1 / sqrt(number of those that occur). For a pair, n-grams of the first text only, of
// the second only, and of both have buckets of their own.
class NgramFeatures : public FeatureExtractor {
 public:
  explicit NgramFeatures(bool is_pair) : is_pair_(is_pair) {}
  int64_t size() const override;
  void Extract(const SplitView& split, int64_t example,
               std::vector<Feature>* features) const override;

 private:
  const bool is_pair_;
};

// Every pixel's value, standardised over the image: (x - mean) / standard deviation.
class PixelFeatures : public FeatureExtractor {
 public:
  explicit PixelFeatures(int64_t pixels) : pixels_(pixels) {}
  int64_t size() const override { return pixels_; }
  void Extract(const SplitView& split, int64_t example,
               std::vector<Feature>* features) const override;

 private:
  const int64_t pixels_;
};

}  // namespace lra

#endif  // LRA_TASKS_FEATURES_H_
