#include "models/interface/attend.h"

#include <c10/core/ScalarType.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_error.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

// "[2, 3, 5, 4] Float on cpu", with type and device of a tensor.
std::string OutputText(at::IntArrayRef shape, const at::Tensor& like) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "] ", c10::toString(like.scalar_type()),
                      " on ", like.device().str());
}

}  // namespace

void CheckOutput(const Attention& attention, const AttentionInput& input, const at::Tensor& output,
                 absl::string_view what) {
  const at::Tensor& q = input.q;
  const int64_t shape[] = {q.size(0), q.size(1), q.size(2), input.v.size(3)};
  const at::IntArrayRef right(shape);
  const bool fits = output.defined() && output.sizes() == right &&
                    output.scalar_type() == q.scalar_type() && output.device() == q.device();
  if (fits) return;
  const std::string found = output.defined() ? OutputText(output.sizes(), output) : "undefined";
  throw StatusError(absl::InvalidArgumentError(
      absl::StrCat(attention.traits().label, ": its ", what, " is ", found,
                   ", must be [B, H, N, D] = ", OutputText(right, q))));
}

at::Tensor AttendWithoutAutocast(const Attention& attention, const AttentionInput& input) {
  const AutocastScope off(false, input.q.device().type());
  const at::Tensor output = attention.Attend(input);
  CheckOutput(attention, input, output);
  return output;
}

at::Tensor ExtendWithoutAutocast(const Attention& attention, const AttentionInput& piece,
                                 AttentionState* state) {
  const AutocastScope off(false, piece.q.device().type());
  const at::Tensor output = attention.Extend(piece, state);
  CheckOutput(attention, piece, output);
  return output;
}

}  // namespace lra
