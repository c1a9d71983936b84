// Inside of the doctor: what the rules share. Each rule adds the findings that it can show.
#ifndef LRA_EVAL_DOCTOR_RULES_H_
#define LRA_EVAL_DOCTOR_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eval/doctor.h"

namespace lra::internal {

// A case with what follows from it.
struct Symptoms {
  const DoctorCase* facts = nullptr;
  // Training examples by label: of the data, else as the run met them.
  std::vector<int64_t> labels;
  // For these labels, or ids of guessed tokens: the cross-entropy (nats) of knowing their
  // frequencies only, and the share of the commonest.
  double entropy = 0, majority = 0;
  // Means over the last quarter of the points.
  double late_loss = 0, late_accuracy = 0;
  // Largest accuracy in the curve; unset without validation.
  std::optional<double> best_validation;
  // Examples that a validation looked at.
  int64_t validation_examples = 0;
  // The step of the last point.
  int64_t step = 0;
  // Neither validation nor training is better than the majority class by three standard deviations;
  // where tokens are guessed, neither loss is below the entropy of their frequencies.
  bool is_stuck = false;
  // Before the step at which the landmark (any run, where there is none: kEarliestStep) is judged.
  bool is_early = false;
  // The protocol's own configuration of this run: without run file and --set. Unset where this
  // program does not know the protocol.
  std::optional<ExperimentConfig> rules;
  // A run on record of this task that had started, nullptr without one.
  const Landmark* started = nullptr;

  const ExperimentConfig& config() const { return facts->run.config(); }
  bool guesses_tokens() const { return facts->run.spec().guesses_tokens(); }
};

inline constexpr int64_t kEarliestStep = 100;

Symptoms Examine(const DoctorCase& facts);

using Findings = std::vector<Finding>;
// Data: labels against the oracle, splits, order, view.
void CheckLabels(const Symptoms& s, Findings* findings);
void CheckSplits(const Symptoms& s, Findings* findings);
void CheckLabelBalance(const Symptoms& s, Findings* findings);
void CheckBrackets(const Symptoms& s, Findings* findings);
void CheckPixels(const Symptoms& s, Findings* findings);
// Weights and outputs.
void CheckCheckpoint(const Symptoms& s, Findings* findings);
void CheckDivergence(const Symptoms& s, Findings* findings);
void CheckTensors(const Symptoms& s, Findings* findings);
void CheckPositions(const Symptoms& s, Findings* findings);
void CheckBatchEffect(const Symptoms& s, Findings* findings);
void CheckAhead(const Symptoms& s, Findings* findings);
// The curve against landmarks.
void CheckLearningRate(const Symptoms& s, Findings* findings);
void CheckPooling(const Symptoms& s, Findings* findings);
void CheckOverfit(const Symptoms& s, Findings* findings);
void CheckStart(const Symptoms& s, Findings* findings);

// The accuracy among a point's train or validation values; 0 where it is not known.
double Accuracy(const google::protobuf::Map<std::string, double>& values);
// "12.3 %"
std::string Percent(double share);
// "--set schedule.learning_rate=0.000667": a fix that can be pasted behind `lra train ...`.
std::string SetFlag(absl::string_view field, const absl::AlphaNum& value);
// The same of a learning rate, with three digits.
std::string RateFlag(double rate);
// "a longer warm-up: --set ..." with twice the steps it has now, or a tenth of the run where
// it has none.
std::string LongerWarmup(const ExperimentConfig& config);
// "majority class 17.0 %, class entropy 2.21 nats"; where tokens are guessed, "commonest token" and
// "token entropy"
std::string MajorityLine(const Symptoms& s);

}  // namespace lra::internal

#endif  // LRA_EVAL_DOCTOR_RULES_H_
