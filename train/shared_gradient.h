// The gradient of one batch, computed by all ranks of a run: each takes some of its examples.
#ifndef LRA_TRAIN_SHARED_GRADIENT_H_
#define LRA_TRAIN_SHARED_GRADIENT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "ranks/ranks.h"
#include "train/objective.h"

namespace lra {

// A batch falls into so many shards where its gradient must have the same bits for every number of
// ranks up to this one.
inline constexpr int kExactShards = 8;

class SharedGradient {
 public:
  // A batch has a shard for each rank: example i of a batch is in shard i mod shards. Their
  // gradients are added by one reduction, in an order that depends on the number of ranks. With
  // is_exact a batch has kExactShards, of which rank r computes r, r + ranks, ...; all ranks gather
  // all of them and add them in order. The arguments must outlive the object.
  SharedGradient(const Objective& objective, Ranks* ranks, bool is_exact);

  // Whether a batch is shared or cut; else Objective::AddGradient does all.
  bool is_whole() const { return ranks_->is_alone() && !is_exact_; }

  // Objective::AddGradient, with parameters' gradients and sums of the whole batch on every rank.
  // `wants_stop` goes along: any_wants_stop() then says whether it was true on some rank.
  // Where a loss is not finite, the gradients are unspecified. The errors of Ranks.
  absl::StatusOr<BatchResult> Add(const HostBatch& batch, int64_t micro_batch_examples,
                                  const ForwardContext& context, bool wants_stop);
  bool any_wants_stop() const { return any_wants_stop_; }

 private:
  // One row for each shard that this rank computes, or could if shards fell evenly.
  struct Rows {
    at::Tensor gradients;  // float32 [rows, P]
    at::Tensor sums;       // float64 [rows, S]
  };

  absl::StatusOr<Rows> ComputeRows(const HostBatch& batch, int64_t micro_batch_examples,
                                   const ForwardContext& context) const;
  absl::Status Reduce(Rows* rows) const;
  absl::StatusOr<at::Tensor> AddInOrder(const at::Tensor& rows) const;
  at::Tensor FlatGradient() const;
  void SpreadGradient(const at::Tensor& flat) const;
  at::Tensor Pack(const BatchResult& result) const;
  BatchResult Unpack(const at::Tensor& sums) const;

  const Objective& objective_;
  Ranks* const ranks_;
  const bool is_exact_;
  const int64_t shards_, rows_;
  bool any_wants_stop_ = false;
};

}  // namespace lra

#endif  // LRA_TRAIN_SHARED_GRADIENT_H_
