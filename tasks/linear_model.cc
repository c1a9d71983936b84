#include "tasks/linear_model.h"

#include <algorithm>
#include <cmath>

#include "lra/check.h"

namespace lra {
namespace {

constexpr float kEpsilon = 1e-6f;

// Works in place, from scores to log-probabilities.
void LogSoftmax(std::vector<double>* scores) {
  const double largest = *std::max_element(scores->begin(), scores->end());
  double sum = 0;
  for (double score : *scores) sum += std::exp(score - largest);
  const double log_sum = largest + std::log(sum);
  for (double& score : *scores) score -= log_sum;
}

}  // namespace

LinearModel::LinearModel(int64_t features, int classes, float learning_rate)
    : classes_(classes),
      learning_rate_(learning_rate),
      weights_((features + 1) * classes, 0.0f),
      squares_((features + 1) * classes, kEpsilon) {}

void LinearModel::Scores(absl::Span<const Feature> features, std::vector<double>* scores) const {
  scores->assign(weights_.end() - classes_, weights_.end());
  for (const Feature& feature : features) {
    const float* row = weights_.data() + static_cast<int64_t>(feature.index) * classes_;
    for (int c = 0; c < classes_; ++c) (*scores)[c] += feature.value * row[c];
  }
  LogSoftmax(scores);
}

void LinearModel::Train(absl::Span<const Feature> features, int label) {
  LRA_CHECK(label >= 0 && label < classes_) << label;
  Scores(features, &scores_);
  for (int c = 0; c < classes_; ++c) scores_[c] = std::exp(scores_[c]) - (c == label ? 1 : 0);
  const auto step = [this](int64_t row, float value) {
    float* weights = weights_.data() + row * classes_;
    float* squares = squares_.data() + row * classes_;
    for (int c = 0; c < classes_; ++c) {
      const float gradient = static_cast<float>(scores_[c]) * value;
      squares[c] += gradient * gradient;
      weights[c] -= learning_rate_ * gradient / std::sqrt(squares[c]);
    }
  };
  for (const Feature& feature : features) step(feature.index, feature.value);
  step(static_cast<int64_t>(weights_.size()) / classes_ - 1, 1.0f);
}

void LinearModel::Predict(absl::Span<const Feature> features, float* log_probabilities) const {
  thread_local std::vector<double> scores;
  Scores(features, &scores);
  for (int c = 0; c < classes_; ++c) log_probabilities[c] = static_cast<float>(scores[c]);
}

}  // namespace lra
