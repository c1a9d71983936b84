#include "inspect/other_length.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>

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

}  // namespace

absl::Status CheckIsSameModel(const Classifier& own, const Classifier& longer,
                              const SplitView& as_own_reads, int64_t max_length_tokens) {
  double largest = 0;
  const absl::Status ran = CatchTorch([&] {
    c10::NoGradGuard no_grad;
    for (int64_t i = 0; i < std::min(kComparedExamples, as_own_reads.size()); ++i) {
      const HostBatch example = MakeBatch(as_own_reads, {i});
      const at::Tensor a = own.Forward(example, {}), b = longer.Forward(example, {});
      const double spread = std::max(a.std().item<double>(), 1e-12);
      largest = std::max(largest, (a - b).abs().max().item<double>() / spread);
    }
    return absl::OkStatus();
  });
  if (!ran.ok() || largest <= kSameWithin) return ran;
  return absl::InvalidArgumentError(absl::StrFormat(
      "--max-length %d: this is another model at that length: its logits of inputs that it was "
      "trained to read change by %.2g of their spread; something in it has its size from "
      "view.max_length_tokens, as cosFormer's M with scale_tokens=0",
      max_length_tokens, largest));
}

}  // namespace lra
