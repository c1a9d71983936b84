// What the encoder reads of a host batch: one text (or image) of each example, and which of its
// positions are real.
#ifndef LRA_MODELS_ENCODER_SEQUENCES_H_
#define LRA_MODELS_ENCODER_SEQUENCES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "datasets/host_batch.h"
#include "lra/config.pb.h"

namespace lra {

// One column of a batch. Points into the batch.
struct Sequences {
  int64_t batch = 0;                  // B
  int64_t length = 0;                 // N
  absl::Span<const int32_t> tokens;   // [B, N]; empty where there are values
  absl::Span<const float> values;     // [B, N]; empty where there are tokens
  absl::Span<const int32_t> lengths;  // [B]
  // What Encoder::AddOnHost() appends, on the model's device; empty: not there yet.
  std::vector<at::Tensor> moved;
};
// The only texts, or the first ones of pairs; the second ones of pairs.
Sequences FirstTexts(const HostBatch& batch);
Sequences SecondTexts(const HostBatch& batch);
// By column, as SplitView counts them: 0 the only or first ones, 1 the second ones.
Sequences Texts(const HostBatch& batch, int column);

// Both texts of pairs as one column: the first ones, then the second ones, all padded with id 0 to
// the longest of them.
class JointTexts {
 public:
  explicit JointTexts(const HostBatch& batch);
  // Points into this object.
  Sequences sequences() const;

 private:
  int64_t length_;
  std::vector<int32_t> tokens_, lengths_;
};

// The longest sequence that a model is made for, in tokens: the longest batch of its view, and CLS
// where the pooling puts one in front.
int64_t LongestSequence(const ExperimentConfig& config);

struct PaddingRules {
  explicit PaddingRules(const ExperimentConfig& config);

  bool has_cls = false;
  bool cls_as_first_token = false;  // model.cls_mask: padding where the first token is
  bool zero_is_padding = false;     // id 0 is padding wherever it stands
};

// True for real positions: [B, N] bool, N counts CLS; undefined where all are real. Without
// zero_is_padding each row is true up to its length.
at::Tensor RealPositions(const Sequences& sequences, const PaddingRules& rules);

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_SEQUENCES_H_
