// Multinomial logistic regression on sparse features, for the linear baselines. It is trained by
// AdaGrad (Duchi et al. 2011), one example a step in the order of the calls, so the result does not
// depend on the number of threads.
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

// Train is not thread-safe; Predict is.
class LinearModel {
 public:
  // Weights of features 0 .. features-1 and a bias for each class, all zero. They take 8 bytes a
  // feature and class.
  LinearModel(int64_t features, int classes, float learning_rate);

  // One gradient step on the cross-entropy of one example.
  void Train(absl::Span<const Feature> features, int label);
  // Writes log-probabilities, [C].
  void Predict(absl::Span<const Feature> features, float* log_probabilities) const;

 private:
  void Scores(absl::Span<const Feature> features, std::vector<double>* scores) const;

  const int classes_;
  const float learning_rate_;
  std::vector<float> weights_, squares_;  // [features + 1, C]; the last row is the bias
  std::vector<double> scores_;            // [C], for the example being trained on
};

}  // namespace lra

#endif  // LRA_TASKS_LINEAR_MODEL_H_
