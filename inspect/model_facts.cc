#include "inspect/model_facts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/id_content.h"
#include "datasets/loader.h"
#include "inspect/open_checkpoint.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

constexpr int64_t kProbeExamples = 8;
// If the logits of all examples differ by less than this share of the largest, the difference is
// rounding.
constexpr double kConstantSpread = 1e-6;

double Norm(const at::Tensor& values) { return at::linalg_vector_norm(values).item<double>(); }

// `model` is newly made and gets the checkpoint's weights.
absl::Status CompareWeights(const std::string& checkpoint, const CheckpointState& state,
                            const Classifier& model, ModelFacts* facts) {
  c10::NoGradGuard no_grad;
  std::vector<at::Tensor> initial;
  for (const Parameter& parameter : model.parameters().parameters()) {
    initial.push_back(parameter.value.detach().clone());
  }
  LRA_RETURN_IF_ERROR(LoadWeights(checkpoint, state, model.parameters()));
  double change = 0, size = 0;
  for (size_t i = 0; i < initial.size(); ++i) {
    const Parameter& parameter = model.parameters().parameters()[i];
    const double before = Norm(initial[i]), moved = Norm(parameter.value - initial[i]);
    TensorFacts& tensor = facts->tensors.emplace_back();
    tensor.name = parameter.name;
    tensor.is_finite = at::isfinite(parameter.value).all().item<bool>();
    tensor.is_zero = Norm(parameter.value) == 0;
    tensor.was_zero = before == 0;
    tensor.change = before > 0 ? moved / before : 0;
    change += moved * moved;
    size += before * before;
  }
  const ExperimentConfig& config = state.config();
  facts->began_with_initial = !config.has_encoder_weights_sha256() &&
                              !config.has_start_weights_sha256() && !config.has_pretrain();
  facts->change = size > 0 ? std::sqrt(change / size) : 0;
  return absl::OkStatus();
}

// The largest difference, in standard deviations of `a`.
double Difference(const at::Tensor& a, const at::Tensor& b) {
  const double spread = a.std().item<double>();
  return (a - b).abs().max().item<double>() / std::max(spread, 1e-12);
}

at::Tensor LogitsOneByOne(const Classifier& model, const std::vector<HostBatch>& examples) {
  std::vector<at::Tensor> logits;
  for (const HostBatch& example : examples) logits.push_back(model.Forward(example, {}));
  return at::cat(logits);
}

bool IsConstant(const at::Tensor& logits) {
  const double largest = logits.abs().max().item<double>();
  return logits.size(0) > 1 && logits.std(0).max().item<double>() <= kConstantSpread * largest;
}

// How far logits move when the second half of the example's guessed tokens become others: those of
// the first half, and of the first token behind it, must not. Nothing for fewer than two.
std::optional<double> AheadEffect(const Classifier& model, const SplitView& split,
                                  int64_t example) {
  const HostBatch batch = MakeBatch(split, {example});
  const int64_t tokens = batch.lengths[0], given = split.prompt_tokens(example);
  const int64_t kept = (tokens - given) / 2;
  if (kept < 1) return std::nullopt;
  HostBatch changed = batch;
  const int32_t first = FirstId(split.spec());
  const int32_t ids = static_cast<int32_t>(split.spec().classes()) - first;
  for (int64_t n = given + kept; n < tokens; ++n)
    changed.tokens[n] = first + (changed.tokens[n] - first + 1) % ids;
  const at::Tensor before = model.Forward(batch, {}), after = model.Forward(changed, {});
  if (before.size(0) != tokens - given) return std::nullopt;  // no row a token
  return Difference(before.narrow(0, 0, kept + 1), after.narrow(0, 0, kept + 1));
}

// Runs a few of the first examples, short and long ones, so that a batch of them is padded.
absl::Status ProbeOutputs(const Classifier& model, const SplitView& split, ModelFacts* facts) {
  c10::NoGradGuard no_grad;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < std::min(kProbeExamples, split.size()); ++i) ids.push_back(i);
  std::vector<HostBatch> alone, reversed;
  for (const int64_t id : ids) {
    alone.push_back(MakeBatch(split, {id}));
    reversed.push_back(alone.back());
    std::vector<int32_t>& tokens = reversed.back().tokens;
    // Padding stays behind: views may pad a batch of one, too.
    const int32_t length = reversed.back().lengths[0];
    if (!tokens.empty()) std::reverse(tokens.begin() + 1, tokens.begin() + length);
  }
  const at::Tensor logits = LogitsOneByOne(model, alone);
  facts->declares_batch_effect = model.depends_on_padding();
  facts->has_finite_logits = at::isfinite(logits).all().item<bool>();
  facts->is_constant = IsConstant(logits);
  if (facts->is_constant || !facts->has_finite_logits) return absl::OkStatus();
  facts->batch_effect = Difference(logits, model.Forward(MakeBatch(split, ids), {}));
  if (split.spec().guesses_tokens()) {
    if (split.spec().hides_tokens()) return absl::OkStatus();
    for (const int64_t id : ids) {
      const std::optional<double> effect = AheadEffect(model, split, id);
      if (effect) facts->ahead_effect = std::max(facts->ahead_effect.value_or(0), *effect);
    }
  } else if (!split.spec().is_real()) {
    facts->order_effect = Difference(logits, LogitsOneByOne(model, reversed));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelFacts> LookAtModel(const ModelFactsRequest& request) {
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(request.path));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckedState(checkpoint));
  ModelFacts facts;
  facts.step = state.step();
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                         request.make_classifier(state.config(), state.spec()));
    return CompareWeights(checkpoint, state, *model, &facts);
  }));
  if (request.data_dir.empty()) return facts;
  LRA_ASSIGN_OR_RETURN(const OpenedCheckpoint opened,
                       OpenCheckpoint({.checkpoint = checkpoint,
                                       .data_dir = request.data_dir,
                                       .split = "validation",
                                       .threads = request.threads,
                                       .device = request.device,
                                       .allows_other_data = true,  // a finding of its own
                                       .make_classifier = request.make_classifier}));
  LRA_RETURN_IF_ERROR(
      CatchTorch([&] { return ProbeOutputs(*opened.model, opened.split, &facts); }));
  return facts;
}

}  // namespace lra
