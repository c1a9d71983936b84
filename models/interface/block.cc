#include "models/interface/block.h"

#include "lra/check.h"

namespace lra {

BlockState Block::InitState(int64_t, const at::TensorOptions&) const {
  LRA_CHECK(traits().supports_streaming);  // a block that claims it brings its own
  return {};
}

at::Tensor Block::Extend(const BlockInput&, BlockState*) const {
  LRA_CHECK(traits().supports_streaming);
  return {};
}

AttentionInput Block::InputOfAttention(const BlockInput&) const {
  LRA_CHECK(attention() != nullptr);  // a block with an attention brings its own
  return {};
}

}  // namespace lra
