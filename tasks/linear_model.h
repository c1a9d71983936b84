// Multinomial logistic regression on sparse features: the linear baselines. Trained by AdaGrad
// (Duchi et al. 2011), one example a step, in the order of the calls: the same result on any number
// of threads.
#ifndef LRA_TASKS_LINEAR_MODEL_H_
#define LRA_TASKS_LINEAR_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lra {

struct Feature {
  uint32_t index = 0;
  float value = 0;
};

// Not thread-safe while training; Predict is.
class LinearModel {
 public:
  // Weights of features 0 .. features-1 and a bias for each class, all zero: 8 bytes a feature and
  // class.
  LinearModel(int64_t features, int classes, float learning_rate);

  // One step down the gradient of the cross-entropy of one example.
  void Train(absl::Span<const Feature> features, int label);
  // Log-probabilities, [C].
  void Predict(absl::Span<const Feature> features, float* log_probabilities) const;

 private:
  void Scores(absl::Span<const Feature> features, std::vector<double>* scores) const;

  const int classes_;
  const float learning_rate_;
  std::vector<float> weights_, squares_;  // [features + 1, C]; the last row is the bias
  std::vector<double> scores_;            // [C], of the example being trained on
};

}  // namespace lra

#endif  // LRA_TASKS_LINEAR_MODEL_H_
