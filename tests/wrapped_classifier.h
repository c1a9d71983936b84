// A model in front of whose passes a test plants something.
#ifndef LRA_TESTS_WRAPPED_CLASSIFIER_H_
#define LRA_TESTS_WRAPPED_CLASSIFIER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "models/classifier.h"

namespace lra {

class WrappedClassifier : public Classifier {
 public:
  explicit WrappedClassifier(std::unique_ptr<Classifier> model) : model_(std::move(model)) {}

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    return model_->Forward(batch, context);
  }
  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training) const override {
    return model_->OnHost(batch, is_training);
  }
  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    model_->VisitAttention(batch, visit);
  }
  const ParameterStore& parameters() const override { return model_->parameters(); }
  std::vector<std::pair<std::string, double>> LearnedNumbers() const override {
    return model_->LearnedNumbers();
  }
  bool depends_on_padding() const override { return model_->depends_on_padding(); }
  void MoveTo(at::Device device) override { model_->MoveTo(device); }
  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const ActivationVisitor& visit) const override {
    model_->VisitActivations(batch, context, visit);
  }

 private:
  const std::unique_ptr<Classifier> model_;
};

// A TrainRequest::make_classifier that wraps the model in a `Wrapper`.
template <class Wrapper>
absl::StatusOr<std::unique_ptr<Classifier>> MakeWrapped(const ExperimentConfig& config,
                                                        const TaskSpec& spec) {
  auto model = CreateClassifier(config, spec);
  if (!model.ok()) return model;
  return std::make_unique<Wrapper>(*std::move(model));
}

}  // namespace lra

#endif  // LRA_TESTS_WRAPPED_CLASSIFIER_H_
