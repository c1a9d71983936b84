// Facts made by hand for tests of the doctor's rules.
#ifndef LRA_EVAL_DOCTOR_TEST_UTIL_H_
#define LRA_EVAL_DOCTOR_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/doctor.h"
#include "eval/metric.h"

namespace lra {

// Facts of a run on 4 classes of 100, 300, 300 and 300 examples: the majority class has 30 %, and
// the class entropy is 1.314 nats. The run made 200 steps of 32 examples. Its curve has a point
// every 20 steps, all with the given accuracy and loss.
inline DoctorCase MakeCase(double accuracy, double loss) {
  DoctorCase facts;
  RunRecord& run = facts.run;
  run.mutable_spec()->set_classes(4);
  ExperimentConfig& config = *run.mutable_config();
  config.set_task("listops");
  config.set_protocol("fair@1");
  config.set_preset("small");
  config.mutable_attention()->set_name("linear");
  config.mutable_view()->set_brackets(DataView::CLOSE_ONLY);
  config.mutable_view()->set_split(DataView::OFFICIAL);
  config.mutable_model()->set_pooling(ModelConfig::FIRST);
  config.mutable_model()->set_positions(ModelConfig::SINUSOID);
  config.mutable_schedule()->set_learning_rate(2e-3f);
  config.mutable_train()->set_batch_examples(32);
  for (int i = 1; i <= 10; ++i) {
    CurvePoint& point = *run.add_curve();
    point.set_step(20 * i);
    point.set_learning_rate(2e-3f);
    point.set_train_loss(loss);
    (*point.mutable_train())[kAccuracy] = accuracy;
    point.set_validation_loss(loss);
    (*point.mutable_validation())[kAccuracy] = accuracy;
    for (const int64_t count : {64, 192, 192, 192}) point.add_label_examples(count);
  }
  facts.data.emplace();
  facts.data->is_same = true;
  facts.data->train_labels = {100, 300, 300, 300};
  facts.data->validation_examples = 500;
  facts.data->label_table = {100, 0, 0, 0, 0, 300, 0, 0, 0, 0, 300, 0, 0, 0, 0, 300};
  facts.data->held_out_examples = 1000;
  facts.model.emplace();
  facts.model->step = 200;
  facts.model->tensors = {{.name = "embedding.token.weight", .change = 0.1},
                          {.name = "head.bias", .is_zero = true, .was_zero = true}};
  facts.model->batch_effect = 1e-6;
  facts.model->order_effect = 0.3;
  const auto landmarks = LoadLandmarks();
  EXPECT_TRUE(landmarks.ok()) << landmarks.status();
  facts.landmarks = *landmarks;
  return facts;
}

inline std::vector<std::string> Causes(const DoctorCase& facts) {
  const auto diagnosis = Diagnose(facts);
  EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
  std::vector<std::string> causes;
  for (const Finding& finding : diagnosis->findings) causes.push_back(finding.cause);
  return causes;
}

// What the first finding says is to be done.
inline std::string Fix(const DoctorCase& facts) { return Diagnose(facts)->findings.at(0).fix; }

}  // namespace lra

#endif  // LRA_EVAL_DOCTOR_TEST_UTIL_H_
