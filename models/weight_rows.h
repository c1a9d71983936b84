// Rows of the matrix of weights W that an attention implies, a block of queries at a time.
#ifndef LRA_MODELS_WEIGHT_ROWS_H_
#define LRA_MODELS_WEIGHT_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "models/interface/attention.h"

namespace lra {

// For one sequence, B = 1 and N = Nk, in float64 and without gradients.
class WeightRows {
 public:
  // InvalidArgument for a method without weights (traits().has_weights).
  static absl::StatusOr<WeightRows> Create(const Attention& attention, const AttentionInput& input);

  // Whether rows are made from queries and keys, block by block: linear attentions and exact
  // softmax. Otherwise all of W is made at once, as ImpliedWeights() does.
  static bool IsByRows(const Attention& attention, const AttentionInput& input);

  int64_t tokens() const { return input_.q.size(2); }
  int64_t heads() const { return input_.q.size(1); }
  // Linear attentions have them.
  const std::optional<WeightFeatures>& features() const { return features_; }

  // Rows first to first + count of every head, [H, count, N], those of linear attentions up to a
  // factor of each row.
  at::Tensor Rows(int64_t first, int64_t count) const;
  // The singular values of each head's W without the rows of masked queries, [H, at most N]; of
  // features without decay in time linear in N, and otherwise cubic.
  absl::StatusOr<at::Tensor> SingularValues() const;
  // Whether the above is linear in N.
  bool has_low_rank() const { return features_ && features_->scale.defined(); }

 private:
  WeightRows(const Attention& attention, AttentionInput input)
      : attention_(&attention), input_(std::move(input)) {}
  at::Tensor FeatureRows(int64_t first, int64_t count) const;
  at::Tensor SoftmaxRows(int64_t first, int64_t count) const;
  // Selects the rows [.., N, *] of queries that are not masked.
  at::Tensor Counted(const at::Tensor& rows) const;

  const Attention* attention_;
  AttentionInput input_;
  std::optional<WeightFeatures> features_;
  at::Tensor all_;  // [H, N, N] where all of W was made at once
};

}  // namespace lra

#endif  // LRA_MODELS_WEIGHT_ROWS_H_
