// The features that linear baselines read from an example: n-grams of its ids, or its pixels.
#ifndef LRA_TASKS_FEATURES_H_
#define LRA_TASKS_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/split_view.h"
#include "tasks/linear_model.h"

namespace lra {

// Safe for concurrent use.
class FeatureExtractor {
 public:
  virtual ~FeatureExtractor() = default;
  // Features are numbered 0 .. size()-1.
  virtual int64_t size() const = 0;
  // Replaces *features by those of one example.
  virtual void Extract(const SplitView& split, int64_t example,
                       std::vector<Feature>* features) const = 0;
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
