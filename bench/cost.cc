#include "bench/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/config.h"

namespace lra {
namespace {

// An option of the method as the request sets it; empty where it has none of this name.
std::string OptionText(const BenchRequest& request, const std::string& name) {
  const absl::StatusOr<AttentionFile> file = LoadAttentionFile(request.attention());
  if (!file.ok()) return "";
  auto options = SetOptions("attention", request.attention(), file->attention().options(),
                            {request.options().begin(), request.options().end()});
  if (!options.ok()) return "";
  AttentionConfig config;
  *config.mutable_options() = *options;
  for (const auto& [path, text] : LeafFields(config)) {
    if (absl::EndsWith(path, absl::StrCat(".", name))) return text;
  }
  return "";
}

// 0 where it is not a number.
double Option(const BenchRequest& request, const std::string& name) {
  double value = 0;
  return absl::SimpleAtod(OptionText(request, name), &value) ? value : 0;
}

// How the forward's products grow: operations of a head of N tokens of width D.
double HeadOperations(const BenchRequest& request) {
  const double n = static_cast<double>(request.tokens()), d = request.head_width();
  const std::string& name = request.attention();
  if (name == "transformer") return (request.causal() ? 2 : 4) * n * n * d;
  if (name == "synthesizer") return (request.causal() ? 1 : 2) * n * n * d;
  static const auto& linear = *new std::map<std::string, double>{
      // Pairs of features: [cos, sin] of twice the width.
      {"linear", 1},     {"relu", 1},      {"leaky_relu", 1}, {"identity", 1},
      {"cottention", 1}, {"cosformer", 2}, {"factorized", 2}};
  if (const auto found = linear.find(name); found != linear.end())
    return found->second * 4 * n * d * d;
  // Features of q and k, then the products with them; of sines and cosines there are two a draw.
  // RELU has no draws: its features are those of q and k.
  if (name == "performer" && OptionText(request, "kernel") == "RELU") return 4 * n * d * d;
  if (name == "performer") return 8 * n * d * Option(request, "features");
  if (name == "rfa") return 12 * n * d * Option(request, "features");
  // Keys and values projected over tokens, then attention over what is left of them. Rank 0 chooses
  // 128, or the length if that is less.
  if (name == "linformer") {
    const double rank = Option(request, "rank");
    return 8 * n * d * (rank > 0 ? rank : std::min(n, 128.0));
  }
  // Queries by landmarks, landmarks by keys and by values, queries by the result; four products of
  // landmarks an iteration of the inverse.
  if (name == "nystromformer") {
    const double landmarks = std::min(n, Option(request, "landmarks"));
    return 8 * n * d * landmarks +
           Option(request, "iterations") * 8 * landmarks * landmarks * landmarks;
  }
  if (name == "local")
    return (request.causal() ? 2 : 4) * n * d * std::min(n, Option(request, "block_tokens"));
  // The own block (causal: half of it) and a sorted one, which is a mixture of all blocks.
  if (name == "sinkhorn") {
    const double block = std::min(n, Option(request, "block_tokens"));
    const double blocks = std::ceil(n / block);
    return (request.causal() ? 6 : 8) * n * d * block + 4 * n * d * blocks;
  }
  return 0;
}

double TensorBytes(const BenchRequest& request) {
  return 4.0 * static_cast<double>(request.batch() * request.tokens()) * request.heads() *
         request.head_width();
}

}  // namespace

PassCost OperatorCost(const BenchRequest& request, int tensors) {
  const bool is_training = request.mode() == BenchRequest::TRAINING;
  PassCost cost;
  cost.operations = HeadOperations(request) * static_cast<double>(request.batch()) *
                    request.heads() * (is_training ? 3 : 1);
  // Forward: inputs and output; backward: inputs, the upstream gradient, and theirs.
  cost.moved_bytes = TensorBytes(request) * (is_training ? 3 * tensors + 2 : tensors + 1);
  return cost;
}

int64_t OperatorMinimumBytes(const BenchRequest& request, int tensors) {
  const bool is_training = request.mode() == BenchRequest::TRAINING;
  return static_cast<int64_t>(TensorBytes(request)) * (is_training ? 1 + tensors : 1);
}

int64_t MinimumStateBytes(const BenchRequest& request) {
  const std::string& name = request.attention();
  const int64_t d = request.head_width();
  const int64_t heads = request.batch() * request.heads();
  if (name == "transformer") return 4 * heads * 2 * request.tokens() * d;
  if (name == "linear" || name == "relu" || name == "leaky_relu" || name == "identity")
    return 4 * heads * (d * d + d);
  if (name == "cosformer") return 4 * heads * 2 * (d * d + d);
  if (name == "cottention") return 4 * heads * d * d;
  return 0;
}

Roofline RooflineOf(const PassCost& cost, NumericsConfig::Precision precision,
                    const BenchMachine& machine) {
  const double operations = precision == NumericsConfig::BF16
                                ? machine.gemm_bfloat16_operations_per_second()
                                : machine.gemm_operations_per_second();
  if (operations <= 0 || machine.copy_bytes_per_second() <= 0) return {};
  const double computing = cost.operations / operations;
  const double moving = cost.moved_bytes / machine.copy_bytes_per_second();
  return {std::max(computing, moving), moving > computing};
}

std::string ShareText(const PassCost& cost, double seconds, NumericsConfig::Precision precision,
                      const BenchMachine& machine) {
  const Roofline roofline = RooflineOf(cost, precision, machine);
  if (roofline.seconds <= 0 || seconds <= 0) return "–";
  const double rate =
      (roofline.is_bound_by_moving ? cost.moved_bytes : cost.operations) / seconds / 1e9;
  return absl::StrFormat("%.*f %s, %.0f %%", rate < 10 ? 1 : 0, rate,
                         roofline.is_bound_by_moving ? "GB/s" : "GFLOP/s",
                         100 * roofline.seconds / seconds);
}

}  // namespace lra
