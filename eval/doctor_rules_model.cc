// The doctor's rules about a run's weights, outputs and curve.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/doctor_rules.h"
#include "lra/protocol_rules.h"

namespace lra::internal {
namespace {

constexpr char kTokenTable[] = "embedding.token.weight";
// A batch that moves logits by more than this share of their spread has an effect. Rounding moves
// them by about 1e-6.
constexpr double kBatchEffectLimit = 1e-3;
// If another order of tokens moves logits by less than this share of their spread, order has no
// effect. Positions that are hardly trained yet change little, but not so little.
constexpr double kOrderEffectLimit = 2e-5;
// Later tokens that move logits by more than this share of their spread are seen. Transforms of the
// whole length (`s4d`), and chunks that are cut by what all tokens say (`performer`), move earlier
// outputs by rounding.
constexpr double kAheadEffectLimit = 1e-3;
constexpr double kOverfitGap = 0.1, kOverfitLossNats = 0.1;

Finding TensorFinding(const TensorFacts& tensor, const Symptoms& s) {
  Finding finding{.strength = Finding::kProven,
                  .expected = "trained weights are finite and have left their initial values",
                  .landmark = "initial values, a function of seed and name"};
  const std::string at_step = absl::StrCat(" at step ", s.facts->model->step);
  if (!tensor.is_finite) {
    finding.cause = kBrokenLayer;
    finding.observed = absl::StrCat(tensor.name, " is not finite", at_step);
    finding.fix = absl::StrCat(RateFlag(s.config().schedule().learning_rate() / 3), "; `lra check ",
                               s.config().attention().name(), "` if it persists");
  } else if (tensor.is_zero) {
    const bool is_position = absl::StrContains(tensor.name, "position");
    finding.cause = is_position ? kNoPositions : kBrokenLayer;
    finding.observed = absl::StrCat(tensor.name, " is all zeros", at_step);
    finding.fix = "look for what overwrites it; `lra check ATTENTION` checks gradients";
  } else {
    const bool is_table = tensor.name == kTokenTable;
    finding.cause = is_table ? kFrozenEmbedding : kBrokenLayer;
    finding.observed = absl::StrCat(tensor.name, " still has its initial values", at_step);
    finding.fix = "its gradient does not arrive: look for a detached or excluded parameter";
  }
  return finding;
}

// Whether any step so far had a learning rate above 0: a warm-up may begin at 0.
bool HasMoved(const RunRecord& run) {
  return std::any_of(run.curve().begin(), run.curve().end(),
                     [](const CurvePoint& point) { return point.learning_rate() > 0; });
}

// Twice the dropout of the run, between 0.1 and 0.5.
std::string MoreDropout(const ExperimentConfig& config) {
  const double more = std::clamp(2.0 * config.model().dropout(), 0.1, 0.5);
  return SetFlag("model.dropout", absl::StrFormat("%.2g", more));
}

// Says which share of the last point's predictions the commonest class has.
std::string DescribePredictions(const RunRecord& run) {
  const auto& counts = run.curve(run.curve_size() - 1).predicted_examples();
  int64_t total = 0, most = 0;
  int top = 0;
  for (int i = 0; i < counts.size(); ++i) {
    total += counts[i];
    if (counts[i] > most) most = counts[top = i];
  }
  if (total == 0) return "";
  return absl::StrCat("; ", Percent(static_cast<double>(most) / static_cast<double>(total)),
                      " of the last predictions are class ", top);
}

}  // namespace

void CheckCheckpoint(const Symptoms& s, Findings* findings) {
  if (s.facts->damage.empty()) return;
  findings->push_back({.cause = kDamagedCheckpoint,
                       .strength = Finding::kProven,
                       .observed = s.facts->damage,
                       .expected = "the bytes that were written",
                       .landmark = "digests in the checkpoint's state.textproto",
                       .fix = "restore the file, or train again from another checkpoint; look at "
                              "the disk"});
}

void CheckDivergence(const Symptoms& s, Findings* findings) {
  const RunFailure& failure = s.facts->run.failure();
  if (failure.kind() != RunFailure::DIVERGED) return;
  findings->push_back(
      {.cause = kDiverged,
       .strength = Finding::kProven,
       .observed = absl::StrCat("step ", failure.step(), ": ", failure.cause()),
       .expected = "finite losses, gradients and outputs",
       .landmark = "the run's own record",
       .fix = absl::StrCat(RateFlag(s.config().schedule().learning_rate() / 3), " ",
                           SetFlag("optimizer.clip_norm", 1), ", or ", LongerWarmup(s.config()))});
}

void CheckTensors(const Symptoms& s, Findings* findings) {
  if (!s.facts->model || s.facts->model->step == 0 || !HasMoved(s.facts->run)) return;
  for (const TensorFacts& tensor : s.facts->model->tensors) {
    const bool is_unmoved =
        s.facts->model->began_with_initial && !tensor.was_zero && tensor.change == 0;
    const bool is_lost = tensor.is_zero && !tensor.was_zero;
    // A table of zeros that never moved is as bad as one that was lost; biases start at zero.
    const bool is_empty_table =
        tensor.is_zero && tensor.was_zero && absl::StrContains(tensor.name, "position");
    if (tensor.is_finite && !is_unmoved && !is_lost && !is_empty_table) continue;
    findings->push_back(TensorFinding(tensor, s));
  }
}

void CheckPositions(const Symptoms& s, Findings* findings) {
  // Who sees the tokens before alone knows how many they are.
  const bool by_config = s.config().model().positions() == ModelConfig::NO_POSITIONS &&
                         !s.config().attention().causal();
  const bool is_measured = s.facts->model && s.facts->model->order_effect.has_value();
  const bool by_output = is_measured && *s.facts->model->order_effect < kOrderEffectLimit;
  // Filters, states and re-weightings have an order of their own: what was measured decides, and
  // unmeasured the setting explains only a run that learns nothing.
  if (!by_output && (is_measured || !by_config || !s.is_stuck || s.is_early)) return;
  std::string observed;
  if (by_config) observed = "model.positions is NO_POSITIONS";
  if (by_output) {
    absl::StrAppendFormat(&observed,
                          "%stokens in another order give the same logits (largest difference "
                          "%.0e of their spread)",
                          by_config ? "; " : "", *s.facts->model->order_effect);
  }
  findings->push_back({.cause = kNoPositions,
                       .strength = by_output ? Finding::kProven : Finding::kHint,
                       .observed = observed,
                       .expected = "the order of the tokens changes the logits",
                       .landmark = "the model's own outputs on validation examples",
                       .fix = absl::StrCat(SetFlag("model.positions", "SINUSOID"),
                                           "; where positions are set already, look at what "
                                           "brings them in: a table, or the attention")});
}

void CheckBatchEffect(const Symptoms& s, Findings* findings) {
  if (!s.facts->model || !s.facts->model->batch_effect) return;
  if (*s.facts->model->batch_effect < kBatchEffectLimit) return;
  // A declared effect explains a run that learns nothing. In any other run it is no finding.
  const bool is_rule =
      s.facts->model->declares_batch_effect || s.config().model().mask() == ModelConfig::OUTER;
  if (is_rule && (!s.is_stuck || s.is_early)) return;
  findings->push_back(
      {.cause = kBatchDependence,
       .strength = is_rule ? Finding::kHint : Finding::kProven,
       .observed = absl::StrFormat("an example's logits differ by %.1e of their spread between "
                                   "alone and in a padded batch",
                                   *s.facts->model->batch_effect),
       .expected =
           absl::StrFormat("below %.0e: padding and neighbours change nothing", kBatchEffectLimit),
       .landmark = "the model's own outputs on validation examples",
       .fix = is_rule ? absl::StrCat(SetFlag("model.pooling", "MEAN"), " ",
                                     SetFlag("model.mask", "KEYS"))
                      : "pin what is taken from the padded batch, as cosformer's M: "
                        "attention.options.scale_tokens, not the batch's length; masks of keys "
                        "(`lra check ATTENTION`)"});
}

void CheckAhead(const Symptoms& s, Findings* findings) {
  if (!s.facts->model || !s.facts->model->ahead_effect) return;
  if (*s.facts->model->ahead_effect < kAheadEffectLimit) return;
  findings->push_back(
      {.cause = kSeesAhead,
       .strength = Finding::kProven,
       .observed = absl::StrFormat("logits move by %.1e of their spread when only the token that "
                                   "they guess and later ones change",
                                   *s.facts->model->ahead_effect),
       .expected = absl::StrFormat("below %.0e: a guess depends on earlier tokens alone",
                                   kAheadEffectLimit),
       .landmark = "the model's own outputs on validation examples",
       .fix = absl::StrCat("`lra check ", s.config().attention().name(),
                           "` tests the causal form; scores of this run say nothing")});
}

void CheckPooling(const Symptoms& s, Findings* findings) {
  // Landmarks see all tokens; where each sees those before alone, FIRST says nothing.
  if (!s.is_stuck || s.is_early || s.started == nullptr || s.guesses_tokens() ||
      s.config().attention().causal())
    return;
  const ModelConfig::Pooling pooling = s.config().model().pooling();
  if (pooling == s.started->pooling()) return;
  std::string landmark = s.started->source();
  for (const Landmark& other : s.facts->landmarks.landmark()) {
    const bool is_alike = other.task() == s.config().task() && other.pooling() == pooling;
    if (is_alike && !other.has_started()) absl::StrAppend(&landmark, "; ", other.source());
  }
  const std::string better = ModelConfig::Pooling_Name(s.started->pooling());
  findings->push_back(
      {.cause = kWrongPooling,
       .strength = Finding::kLikely,
       .observed = absl::StrCat("model.pooling is ", ModelConfig::Pooling_Name(pooling),
                                "; at step ", s.step, " training accuracy ",
                                Percent(s.late_accuracy), " (", MajorityLine(s), ")"),
       .expected = absl::StrFormat("%.0f %% by step %d with %s", s.started->accuracy_percent(),
                                   s.started->step(), better),
       .landmark = landmark,
       .fix = absl::StrCat(SetFlag("model.pooling", better), ", or many more steps")});
}

void CheckOverfit(const Symptoms& s, Findings* findings) {
  const CurvePoint* best = nullptr;
  const CurvePoint* last = nullptr;
  for (const CurvePoint& point : s.facts->run.curve()) {
    if (!point.has_validation_loss()) continue;
    if (best == nullptr || point.validation_loss() < best->validation_loss()) best = &point;
    last = &point;
  }
  if (last == nullptr) return;
  const double train = Accuracy(last->train()), validation = Accuracy(last->validation());
  const double gap = train - validation;
  if (gap < kOverfitGap || last->validation_loss() < best->validation_loss() + kOverfitLossNats) {
    return;
  }
  findings->push_back(
      {.cause = kOverfit,
       .strength = Finding::kLikely,
       .observed = absl::StrFormat(
           "validation loss rose from %.3f at step %d to %.3f; training accuracy %s, validation %s",
           best->validation_loss(), best->step(), last->validation_loss(), Percent(train),
           Percent(validation)),
       .expected = "a validation loss that falls or stands still",
       .landmark = "the run's own curve",
       .fix = absl::StrCat(MoreDropout(s.config()), " ", SetFlag("train.early_stop_evaluations", 5),
                           ", a larger optimizer.weight_decay, or more data")});
}

void CheckStart(const Symptoms& s, Findings* findings) {
  if (!s.is_stuck || s.is_early) return;
  Finding finding{
      .cause = kNotStarted,
      .observed = absl::StrFormat("at step %d training accuracy %s, loss %.3f", s.step,
                                  Percent(s.late_accuracy), s.late_loss),
      .expected = s.guesses_tokens() ? absl::StrFormat("a loss below the %s", MajorityLine(s))
                                     : absl::StrCat("more than the ", MajorityLine(s)),
      .landmark = s.started != nullptr ? s.started->source()
                  : s.guesses_tokens() ? "token counts of the training split"
                                       : "label counts of the training split",
      .fix = absl::StrCat(
          SetFlag("train.steps", 2 * std::max<int64_t>(s.config().train().steps(), s.step)),
          ", or --seeds 0-2: runs of a bimodal task start late or never; "
          "a start is told by the loss leaving the ",
          s.guesses_tokens() ? "token" : "class", " entropy")};
  finding.observed += DescribePredictions(s.facts->run);
  findings->push_back(finding);
}

}  // namespace lra::internal
