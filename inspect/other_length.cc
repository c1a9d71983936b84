#include "inspect/other_length.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/loader.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

constexpr int64_t kComparedExamples = 4;
// A share of the logits' spread. The same function gives the same bits on the CPU; a model that
// hardly uses its attention yet differs by little where it is another one.
constexpr double kSameWithin = 1e-6;

// The first examples that both read in full, each as its model reads it: padded to its own length,
// where a view pads. Without any such example both read what the first model does.
std::vector<std::pair<HostBatch, HostBatch>> Comparable(const SplitView& own,
                                                        const SplitView& longer) {
  std::vector<std::pair<HostBatch, HostBatch>> batches;
  for (int64_t i = 0; i < std::min(own.size(), longer.size()); ++i) {
    if (static_cast<int64_t>(batches.size()) == kComparedExamples) break;
    if (own.longest_tokens(i) == longer.longest_tokens(i))
      batches.emplace_back(MakeBatch(own, {i}), MakeBatch(longer, {i}));
  }
  if (batches.empty() && own.size() > 0)
    batches.emplace_back(MakeBatch(own, {0}), MakeBatch(own, {0}));
  return batches;
}

}  // namespace

absl::Status CheckIsSameModel(const Classifier& own, const Classifier& longer,
                              const SplitView& as_own_reads, const SplitView& as_longer_reads) {
  const int64_t length = as_longer_reads.spec().max_length_tokens();
  double largest = 0;
  const absl::Status ran = CatchTorch([&] {
    c10::NoGradGuard no_grad;
    for (const auto& [a_batch, b_batch] : Comparable(as_own_reads, as_longer_reads)) {
      const at::Tensor a = own.Forward(a_batch, {}), b = longer.Forward(b_batch, {});
      const double spread = std::max(a.std().item<double>(), 1e-12);
      const double difference = (a - b).abs().max().item<double>() / spread;
      // What is no number is no answer, and no equal one.
      largest = std::isnan(difference) ? difference : std::max(largest, difference);
      if (std::isnan(largest)) break;
    }
    return absl::OkStatus();
  });
  if (!ran.ok() || largest <= kSameWithin) return ran;
  return absl::InvalidArgumentError(absl::StrFormat(
      "--max-length %d: this is another model at that length: its logits of inputs that it was "
      "trained to read change by %.2g of their spread; something in it has its size from "
      "view.max_length_tokens, as cosFormer's M with scale_tokens=0, or from how far inputs are "
      "padded",
      length, largest));
}

}  // namespace lra
