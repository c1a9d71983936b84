#include "models/kernels/dropout_on_device.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <array>
#include <numbers>

#include "lra/random.h"
#include "models/kernels/cuda_kernels.h"

namespace lra::internal {
namespace {

// Words of 32 bits in int64 tensors of shapes that broadcast.
using Words = std::array<at::Tensor, 4>;
constexpr int64_t kWord = 0xFFFFFFFF;
constexpr int64_t kChannelsOfBlock = 8, kHeadShift = 18;

// The upper word of a product of two words. A product above 2^63 is negative here: the mask drops
// what the shift brought in.
at::Tensor High(const at::Tensor& product) {
  return product.bitwise_right_shift(32).bitwise_and_(kWord);
}

// Philox4x32-10 (Salmon et al. 2011), as lra/random.h has it.
Words Philox10(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const at::Tensor first = c[0] * int64_t{0xD2511F53}, second = c[2] * int64_t{0xCD9E8D57};
    c[0] = High(second).bitwise_xor(c[1]).bitwise_xor(static_cast<int64_t>(key0));
    c[1] = second.bitwise_and(kWord);
    c[2] = High(first).bitwise_xor(c[3]).bitwise_xor(static_cast<int64_t>(key1));
    c[3] = first.bitwise_and(kWord);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

at::Tensor WholeIds(const DropoutKey& key, at::Device device) {
  const at::Tensor& known = key.ids_on_device;
  const bool is_there = known.defined() && known.device() == device;
  return is_there ? known : key.example_ids.to(device);
}

// int64 []
at::Tensor StepOf(const DropoutKey& key, at::Device device) {
  const at::Tensor& known = key.step_on_device;
  if (known.defined() && known.device() == device) return known;
  return at::full({}, static_cast<int64_t>(key.step), at::TensorOptions(at::kLong).device(device));
}

// The low words of the examples' ids, [B].
at::Tensor Ids(const DropoutKey& key, at::Device device) {
  return WholeIds(key, device).bitwise_and(kWord);
}

KeptPlan PlanOf(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns) {
  KeptPlan plan = {};
  plan.examples = key.example_ids.size(0);
  plan.heads = heads;
  plan.rows = rows;
  plan.columns = columns;
  plan.seed = key.seed;
  plan.site_word = key.site << 8 | static_cast<uint32_t>(RandomDomain::kDropout);
  plan.step = key.step;
  plan.threshold = key.Threshold();
  return plan;
}

Words Draw(const DropoutKey& key, const at::Tensor& block, const at::Tensor& token,
           const at::Tensor& id, RandomDomain domain) {
  const at::Tensor step = StepOf(key, block.device());
  return Philox10({block, token, id, step}, key.seed,
                  key.site << 8 | static_cast<uint32_t>(domain));
}

// The 16 bits of each channel of the blocks [.., b]: [.., 8 b].
at::Tensor BitsOfChannels(const Words& words) {
  const at::Tensor all = at::stack({words[0], words[1], words[2], words[3]}, -1).unsqueeze(-1);
  const at::Tensor shifts = at::arange(0, 32, 16, all.options());
  return all.bitwise_right_shift(shifts).bitwise_and_(0xFFFF).flatten(-3);
}

at::Tensor IsKept(const at::Tensor& bits, const DropoutKey& key) {
  return bits.ge(static_cast<int64_t>(key.Threshold()));
}

at::TensorOptions Integers(at::Device device) {
  return at::TensorOptions(at::kLong).device(device);
}

int64_t BlocksOf(int64_t channels) { return (channels + kChannelsOfBlock - 1) / kChannelsOfBlock; }

// By our own kernel; undefined where there is none.
at::Tensor DrawKept(const KeptPlan& plan, const DropoutKey& key, at::Device device) {
  if (!device.is_cuda()) return at::Tensor();
  return DrawKeptOnCuda(plan, WholeIds(key, device), key.step_on_device);
}

}  // namespace

at::Tensor ScaledMask(const at::Tensor& kept, const DropoutKey& key, at::ScalarType type) {
  return kept.to(type).mul_(key.Scale());
}

at::Tensor KeptChannels(const DropoutKey& key, int64_t tokens, int64_t channels,
                        at::Device device) {
  const KeptPlan plan = PlanOf(key, 1, key.is_tied ? 1 : tokens, channels);
  const at::Tensor drawn = DrawKept(plan, key, device);
  if (drawn.defined()) return drawn.squeeze(1);
  const auto options = Integers(device);
  const at::Tensor block = at::arange(BlocksOf(channels), options),
                   token = key.is_tied ? at::zeros({1, 1}, options)
                                       : at::arange(tokens, options).unsqueeze(1);
  const Words words =
      Draw(key, block, token, Ids(key, device).view({-1, 1, 1}), RandomDomain::kDropout);
  return IsKept(BitsOfChannels(words).narrow(-1, 0, channels), key);
}

at::Tensor KeptWeights(const DropoutKey& key, int64_t heads, int64_t first_query, int64_t queries,
                       int64_t first_key, int64_t keys, at::Device device) {
  KeptPlan plan = PlanOf(key, heads, queries, keys);
  plan.first_row = static_cast<uint32_t>(first_query);
  plan.first_block = static_cast<uint32_t>(first_key / kChannelsOfBlock);
  const at::Tensor drawn = DrawKept(plan, key, device);
  if (drawn.defined()) return drawn;
  const auto options = Integers(device);
  const at::Tensor head = at::arange(heads, options).view({-1, 1, 1}) * (int64_t{1} << kHeadShift);
  const int64_t first_block = first_key / kChannelsOfBlock;
  const at::Tensor block = head + at::arange(first_block, first_block + BlocksOf(keys), options);
  const at::Tensor query = at::arange(first_query, first_query + queries, options).unsqueeze(1);
  const Words words =
      Draw(key, block, query, Ids(key, device).view({-1, 1, 1, 1}), RandomDomain::kDropout);
  return IsKept(BitsOfChannels(words).narrow(-1, 0, keys), key);
}

at::Tensor KeptPairs(const DropoutKey& key, int64_t heads, const at::Tensor& queries,
                     const at::Tensor& keys, int64_t first_group) {
  const at::Tensor ids = Ids(key, queries.device());
  const at::Tensor table = at::arange(first_group, first_group + queries.size(0), queries.options())
                               .remainder(ids.size(0) * heads);
  const at::Tensor head = table.remainder(heads),
                   id = ids.index_select(0, table.floor_divide(heads));
  const at::Tensor places = keys.clamp_min(0).unsqueeze(1);  // [G, 1, Lk]
  const at::Tensor block =
      head.view({-1, 1, 1}) * (int64_t{1} << kHeadShift) + places.bitwise_right_shift(3);
  const Words words = Draw(key, block, queries.clamp_min(0).unsqueeze(2), id.view({-1, 1, 1}),
                           RandomDomain::kDropout);
  const at::Tensor number = places.bitwise_right_shift(1).bitwise_and_(3);  // of the word
  const at::Tensor word = at::where(number.lt(2), at::where(number.eq(0), words[0], words[1]),
                                    at::where(number.eq(2), words[2], words[3]));
  const at::Tensor bits =
      word.bitwise_right_shift(places.bitwise_and(1).mul_(16)).bitwise_and_(0xFFFF);
  return IsKept(bits, key)
      .logical_and_(keys.ge(0).unsqueeze(1))
      .logical_and_(queries.ge(0).unsqueeze(2));
}

at::Tensor GumbelNoiseOnDevice(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns,
                               at::Device device) {
  const auto options = Integers(device);
  const at::Tensor head = at::arange(heads, options).view({-1, 1, 1}) * (int64_t{1} << kHeadShift);
  const at::Tensor block = head + at::arange((columns + 3) / 4, options);
  const Words w = Draw(key, block, at::arange(rows, options).unsqueeze(1),
                       Ids(key, device).view({-1, 1, 1, 1}), RandomDomain::kAttentionNoise);
  const at::Tensor word =
      at::stack({w[0], w[1], w[2], w[3]}, -1).flatten(-2).narrow(-1, 0, columns);
  return word.to(at::kDouble).add_(0.5).mul_(0x1.0p-32).log_().neg_().log_().neg_();
}

at::Tensor NormalNoiseOnDevice(const DropoutKey& key, const std::vector<int64_t>& shape,
                               at::Device device) {
  const at::Tensor places = at::arange(c10::multiply_integers(shape), Integers(device));
  const at::Tensor zero = at::zeros({1}, places.options());
  const Words w = Draw(key, places, zero, zero, RandomDomain::kAttentionNoise);
  const auto uniform = [](const at::Tensor& low, const at::Tensor& high) {  // RandomStream's
    const at::Tensor bits = high.bitwise_left_shift(21).bitwise_or_(low.bitwise_right_shift(11));
    return bits.to(at::kDouble).mul_(0x1.0p-53);
  };
  const at::Tensor radius = uniform(w[0], w[1]).neg_().log1p_().mul_(-2).sqrt_();
  const at::Tensor angle = uniform(w[2], w[3]).mul_(2 * std::numbers::pi);
  return radius.mul_(angle.cos()).to(at::kFloat).view(shape);
}

}  // namespace lra::internal
