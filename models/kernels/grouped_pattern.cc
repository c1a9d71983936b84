#include "models/kernels/grouped_pattern.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include "models/kernels/gathered_rows.h"

namespace lra::internal {

PatternTile::PatternTile(const at::Tensor& q, const Pattern& pattern, const AttentionGroups& part,
                         const Range& range)
    : pattern_(pattern), part_(part), range_(range), heads_(q.size(1)) {
  const int64_t tables = q.size(0) * heads_;
  const at::Tensor number =
      at::arange(range.first_group, range.first_group + range.groups, q.options().dtype(at::kLong));
  group_ = number.floor_divide(tables);
  table_ = number.remainder(tables);
  queries_ = PositionsOf(part.queries, q.size(2)).narrow(1, range.first_query, range.queries);
  keys_ = PositionsOf(part.keys, q.size(2));
  if (pattern.keep.defined()) DropMaskedKeys(q.size(2));
}

at::Tensor PatternTile::Dropout() const {
  return GatherWeightDropout(pattern_.dropout, heads_, queries_, keys_, first());
}

at::Tensor PatternTile::PositionsOf(const TokenRuns& runs, int64_t tokens) const {
  const at::Tensor& starts = runs.starts;
  const auto index = [&](const at::Tensor& number, int64_t dim) {
    return starts.size(dim) == 1 ? at::zeros_like(number) : number;
  };
  const at::Tensor row = (index(table_.floor_divide(heads_), 0) * starts.size(1) +
                          index(table_.remainder(heads_), 1)) *
                             starts.size(2) +
                         index(group_, 2);
  at::Tensor place = starts.reshape({-1, starts.size(3)}).index_select(0, row);
  if (runs.run_tokens > 1) {
    place = (place.unsqueeze(2) + at::arange(runs.run_tokens, place.options())).flatten(1);
  }
  return place.masked_fill_(place.lt(runs.first_token).logical_or(place.ge(tokens)), -1);
}

void PatternTile::DropMaskedKeys(int64_t tokens) {
  const at::Tensor row = (table_.floor_divide(heads_) * tokens).unsqueeze(1) + keys_.clamp_min(0);
  const at::Tensor kept = pattern_.keep.reshape({-1}).index_select(0, row.flatten());
  keys_.masked_fill_(kept.view_as(keys_).logical_not(), -1);
}

}  // namespace lra::internal
