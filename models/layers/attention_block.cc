#include "models/layers/attention_block.h"

#include <c10/core/GradMode.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

BlockTraits WithThoseOfAttention(const AttentionPart& part, const BlockTraits& own) {
  const Traits& attention = part.attention().traits();
  BlockTraits traits = part.TraitsOfBlock();
  traits.label = own.label;
  traits.summary = own.summary;
  traits.source = own.source;
  traits.time_order = absl::StrCat(attention.time_order, " + ", own.time_order);
  traits.memory_order = absl::StrCat(attention.memory_order, " + ", own.memory_order);
  return traits;
}

}  // namespace

AttentionBlock::AttentionBlock(const BlockContext& context, AttentionPart part,
                               const BlockTraits& traits)
    : index_(context.index), part_(std::move(part)), traits_(WithThoseOfAttention(part_, traits)) {}

// Norms over the batch take their statistics from all rows.
at::Tensor AttentionBlock::Forward(const BlockInput& input) const {
  BlockInput own = input;
  own.reads_first_only = input.reads_first_only && part_.norm().is_layer_norm();
  const at::Tensor attended = part_.Attend(own);
  if (!own.reads_first_only) return Finish(attended, own);
  own.x = own.x.narrow(1, 0, 1);
  if (own.real.defined()) own.real = own.real.narrow(1, 0, 1);
  return Finish(attended, own);
}

BlockState AttentionBlock::InitState(int64_t batch, const at::TensorOptions& options) const {
  return part_.InitState(batch, options);
}

at::Tensor AttentionBlock::Extend(const BlockInput& piece, BlockState* state) const {
  const c10::NoGradGuard no_gradient;
  state->tokens += piece.x.size(1);
  return Finish(part_.Extend(piece, state), piece);
}

AttentionInput AttentionBlock::InputOfAttention(const BlockInput& input) const {
  return part_.Input(input);
}

DropoutKey AttentionBlock::Key(LayerSite place, const DropoutRun& run) const {
  return run.HiddenKey(SiteOf(index_, place));
}

}  // namespace lra
