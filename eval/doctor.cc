#include "eval/doctor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/curve_values.h"
#include "eval/doctor_rules.h"
#include "eval/pretrain_text.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/protocol_rules.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace internal {
namespace {

// Standard deviations by which chance alone is not better than the majority class.
constexpr double kSigmas = 3;
// A loss from this share of the tokens' entropy on is that of their frequencies.
constexpr double kOfFrequencies = 0.98;

// What the training loop met, summed over the curve.
std::vector<int64_t> LabelsOfCurve(const RunRecord& run) {
  std::vector<int64_t> labels(run.spec().classes());
  for (const CurvePoint& point : run.curve()) {
    const int n = std::min<int>(point.label_examples_size(), static_cast<int>(labels.size()));
    for (int i = 0; i < n; ++i) labels[i] += point.label_examples(i);
  }
  return labels;
}

void AddMajorityLine(Symptoms* s) {
  const double total = std::accumulate(s->labels.begin(), s->labels.end(), 0.0);
  for (const int64_t count : s->labels) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    s->entropy -= share * std::log(share);
    s->majority = std::max(s->majority, share);
  }
}

void AddLatePoints(Symptoms* s) {
  const auto& curve = s->facts->run.curve();
  const int late = (curve.size() + 3) / 4;
  for (int i = curve.size() - late; i < curve.size(); ++i) {
    s->late_loss += curve[i].train_loss() / late;
    s->late_accuracy += Accuracy(curve[i].train()) / late;
  }
  for (const CurvePoint& point : curve) {
    const std::optional<double> accuracy = FindValue(point.validation(), kAccuracy);
    if (accuracy) s->best_validation = std::max(s->best_validation.value_or(0), *accuracy);
  }
  s->step = curve[curve.size() - 1].step();
}

int64_t ValidationExamples(const Symptoms& s) {
  int64_t examples = 0;
  for (const SplitResult& result : s.facts->run.results()) {
    if (result.split() == "validation") examples = result.examples();
  }
  if (s.facts->data) examples = s.facts->data->validation_examples;
  const int64_t limit = s.config().train().validation_examples();
  if (limit > 0 && (examples == 0 || limit < examples)) examples = limit;
  return examples;
}

// Examples of the last quarter of the points.
double LateTrainingExamples(const Symptoms& s) {
  const auto& curve = s.facts->run.curve();
  const int64_t before = curve.size() - (curve.size() + 3) / 4;
  const int64_t from = before == 0 ? 0 : curve[static_cast<int>(before) - 1].step();
  return static_cast<double>(s.step - from) * s.config().train().batch_examples();
}

bool IsAboveMajority(double accuracy, double examples, double majority) {
  const double deviation = std::sqrt(majority * (1 - majority) / std::max(1.0, examples));
  return accuracy > majority + kSigmas * deviation;
}

// The commonest pixel is so common that few guesses are better: losses tell more.
bool AreLossesThoseOfFrequencies(const Symptoms& s) {
  const double limit = kOfFrequencies * s.entropy;
  if (s.late_loss < limit) return false;
  const auto& curve = s.facts->run.curve();
  return std::none_of(curve.begin(), curve.end(), [limit](const CurvePoint& point) {
    return point.has_validation_loss() && point.validation_loss() < limit;
  });
}

bool IsStuck(const Symptoms& s) {
  if (s.guesses_tokens()) return AreLossesThoseOfFrequencies(s);
  if (IsAboveMajority(s.late_accuracy, LateTrainingExamples(s), s.majority)) return false;
  return !s.best_validation ||
         !IsAboveMajority(*s.best_validation, static_cast<double>(s.validation_examples),
                          s.majority);
}

absl::StatusOr<ExperimentConfig> RulesOf(const ExperimentConfig& config) {
  ConfigBuilder builder(config.task());
  // A version that is not here is judged by the present one's rules.
  if (!builder.AddProtocol(config.protocol()).ok())
    LRA_RETURN_IF_ERROR(builder.AddProtocol(ProtocolName(config)));
  LRA_RETURN_IF_ERROR(builder.AddPreset(config.preset()));
  LRA_RETURN_IF_ERROR(builder.AddAttention(config.attention().name()));
  return builder.config();
}

}  // namespace

Symptoms Examine(const DoctorCase& facts) {
  Symptoms s;
  s.facts = &facts;
  s.labels = facts.data ? facts.data->train_labels : LabelsOfCurve(facts.run);
  AddMajorityLine(&s);
  AddLatePoints(&s);
  s.validation_examples = ValidationExamples(s);
  s.is_stuck = s.majority > 0 && IsStuck(s);
  absl::StatusOr<ExperimentConfig> rules = RulesOf(facts.run.config());
  if (rules.ok()) s.rules = *std::move(rules);
  for (const Landmark& landmark : facts.landmarks.landmark()) {
    // Those on record are of labels.
    const bool is_of_task = landmark.task() == facts.run.config().task() && !s.guesses_tokens();
    if (is_of_task && landmark.has_started() && s.started == nullptr) s.started = &landmark;
  }
  s.is_early = s.step < (s.started == nullptr ? kEarliestStep : s.started->step());
  return s;
}

double Accuracy(const google::protobuf::Map<std::string, double>& values) {
  return FindValue(values, kAccuracy).value_or(0);
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string SetFlag(absl::string_view field, const absl::AlphaNum& value) {
  return absl::StrCat("--set ", field, "=", value);
}

std::string MajorityLine(const Symptoms& s) {
  // The curve of guessed tokens does not count them.
  if (s.majority == 0) return "how often each is to be guessed is not known";
  return absl::StrFormat("%s %s, %s entropy %.2f nats",
                         s.guesses_tokens() ? "commonest token" : "majority class",
                         Percent(s.majority), s.guesses_tokens() ? "token" : "class", s.entropy);
}

}  // namespace internal

namespace {

using internal::Symptoms;
using Curve = google::protobuf::RepeatedPtrField<CurvePoint>;

// A curve on record of the same task, with the same attention if there is one.
const LandmarkCurve* CurveOnRecord(const Symptoms& s) {
  if (s.guesses_tokens()) return nullptr;  // those on record are of labels
  const LandmarkCurve* found = nullptr;
  for (const LandmarkCurve& curve : s.facts->landmarks.curve()) {
    if (curve.task() != s.config().task()) continue;
    const bool is_same = curve.attention() == s.config().attention().name();
    if (found == nullptr || is_same) found = &curve;
    if (is_same) break;
  }
  return found;
}

// The last point up to `step`, nullptr without one.
const CurvePoint* PointAt(const Curve& curve, int64_t step) {
  const CurvePoint* found = nullptr;
  for (const CurvePoint& point : curve) {
    if (point.step() <= step) found = &point;
  }
  return found;
}

std::string DescribePoint(const CurvePoint& point) {
  std::string text = absl::StrFormat("step %d: training loss %.3f, gradient norm %.2g",
                                     point.step(), point.train_loss(), point.gradient_norm());
  if (point.update_ratio() > 0) {
    absl::StrAppendFormat(&text, ", update-to-weight ratio %.1e", point.update_ratio());
  }
  return text;
}

// What was met elsewhere by the same step; "" where nothing is on record.
std::string Expectation(const Symptoms& s) {
  const LandmarkCurve* curve = CurveOnRecord(s);
  if (curve == nullptr) return "";
  const CurvePoint* expected = PointAt(curve->point(), s.step);
  if (expected == nullptr) return "";
  const CurvePoint* own = PointAt(s.facts->run.curve(), expected->step());
  if (own == nullptr) return "";
  return absl::StrCat("on record (", curve->source(), "), ", curve->attention(), ", ",
                      DescribePoint(*expected), "; this run, ", DescribePoint(*own));
}

// What the rules do not look at: a task's metric that is not accuracy, and pretraining.
void AddOtherMetrics(const RunRecord& run, std::vector<std::string>* notes) {
  const absl::StatusOr<const Metric*> metric = MetricOf(run.spec());
  if (metric.ok() && (*metric)->name() != kAccuracy) {
    if (const CurvePoint* best = BestPoint(run, **metric)) {
      notes->push_back(
          absl::StrCat("best validation ", (*metric)->name(), " ",
                       (*metric)->Text(*FindValue(best->validation(), (*metric)->name())),
                       " at step ", FormatCount(best->step())));
    }
  }
  for (const auto& [name, value] : std::map<std::string, double>(
           run.pretrain().validation().begin(), run.pretrain().validation().end())) {
    const absl::StatusOr<const Metric*> known = FindMetric(name);
    if (!known.ok()) continue;
    notes->push_back(absl::StrCat("pretrained ", FormatCount(run.pretrain().steps()),
                                  " steps: validation ", name, " ", (*known)->Text(value)));
  }
  if (run.pretrain().entropy_examples() > 0) {
    notes->push_back(absl::StrCat(
        "entropy of the tokens that it was pretrained on: ", DescribeEntropies(run.pretrain()),
        run.pretrain().validation_nats() < run.pretrain().unigram_nats()
            ? ""
            : "; pretraining learned no more than how often each token occurs"));
  }
}

std::vector<std::string> Notes(const Symptoms& s) {
  std::vector<std::string> notes;
  std::string line =
      absl::StrFormat("step %s: training loss %.3f, accuracy %s; best validation %s; %s",
                      FormatCount(s.step), s.late_loss, internal::Percent(s.late_accuracy),
                      s.best_validation ? internal::Percent(*s.best_validation) : "not looked at",
                      internal::MajorityLine(s));
  const std::optional<DataFacts>& data = s.facts->data;
  if (data && data->shortcut_accuracy > 0) {
    absl::StrAppend(&line, ", the task's shortcut ", internal::Percent(data->shortcut_accuracy));
  }
  notes.push_back(line);
  if (std::string expectation = Expectation(s); !expectation.empty()) {
    notes.push_back(std::move(expectation));
  }
  if (!data) {
    notes.push_back("the data was not looked at: labels, splits and leakage are unknown");
  } else if (!data->is_same) {
    notes.push_back("the data looked at is not the one that the run recorded");
  } else if (data->has_canonical && !data->is_canonical) {
    notes.push_back("the data is not the canonical one of this task");
  }
  if (!s.facts->model) {
    notes.push_back("the weights were not looked at: no checkpoint could be opened");
  }
  if (s.facts->model && !s.facts->model->began_with_initial) {
    notes.push_back(
        "it began with weights that were trained before: how far they moved was not looked at");
  }
  if (s.facts->model && !s.facts->model->has_finite_logits) {
    notes.push_back("logits of validation examples are not finite");
  }
  if (s.facts->model && s.facts->model->is_constant) {
    notes.push_back("every example gets the same logits: what they depend on cannot be seen");
  }
  if (s.facts->model && s.facts->model->declares_batch_effect) {
    notes.push_back(
        "an example's output depends on the length of its batch, as its configuration or its "
        "attention declares");
  }
  const auto& curve = s.facts->run.curve();
  if (std::none_of(curve.begin(), curve.end(),
                   [](const CurvePoint& point) { return point.update_ratio() > 0; })) {
    notes.push_back("the curve does not record update-to-weight ratios");
  }
  if (s.is_early) {
    notes.push_back(absl::StrCat(
        "too early to say whether it learns: step ", s.step, "; runs are judged from step ",
        s.started == nullptr ? internal::kEarliestStep : s.started->step(), " on"));
  }
  AddOtherMetrics(s.facts->run, &notes);
  return notes;
}

}  // namespace

absl::StatusOr<Diagnosis> Diagnose(const DoctorCase& facts) {
  if (facts.run.kind() == RunRecord::BASELINE || facts.run.kind() == RunRecord::EXTERNAL) {
    return absl::InvalidArgumentError(
        "it is no run of `lra train`, and has no curve to be looked at");
  }
  if (facts.run.curve().empty()) {
    return absl::InvalidArgumentError("the run has no point of a curve yet");
  }
  if (facts.run.spec().classes() < 2) {
    return absl::InvalidArgumentError(
        "the run has no checkpoint yet: its configuration and task are not known");
  }
  const Symptoms s = internal::Examine(facts);
  Diagnosis diagnosis;
  // Where two findings have equal strength, the earlier is likelier, so causes come before what
  // follows from them.
  for (const auto rule :
       {internal::CheckCheckpoint, internal::CheckDivergence, internal::CheckTensors,
        internal::CheckLabels, internal::CheckSplits, internal::CheckAhead,
        internal::CheckPositions, internal::CheckBatchEffect, internal::CheckLabelBalance,
        internal::CheckBrackets, internal::CheckPixels, internal::CheckLearningRate,
        internal::CheckPooling, internal::CheckOverfit, internal::CheckStart}) {
    rule(s, &diagnosis.findings);
  }
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.strength > b.strength; });
  diagnosis.notes = Notes(s);
  return diagnosis;
}

absl::StatusOr<Landmarks> LoadLandmarks() {
  Landmarks landmarks;
  for (const char* file : {"doctor/landmarks.textproto", "doctor/curves.textproto"}) {
    Landmarks read;
    LRA_RETURN_IF_ERROR(ReadTextProto(JoinPath(ConfigDirectory(), file), &read));
    landmarks.MergeFrom(read);
  }
  return landmarks;
}

const char* StrengthName(Finding::Strength strength) {
  switch (strength) {
    case Finding::kHint:
      return "hint";
    case Finding::kLikely:
      return "likely";
    case Finding::kProven:
      return "proven";
  }
  return "";
}

}  // namespace lra
