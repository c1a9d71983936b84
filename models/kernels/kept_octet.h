// The random bits of dropout (models/kernels/dropout.h), as a CUDA thread draws them: eight
// neighbouring elements of a mask, which share a block of Philox. Compiled for the device by nvcc
// and for the host by the test, which compares every bit.
#ifndef LRA_MODELS_KERNELS_KEPT_OCTET_H_
#define LRA_MODELS_KERNELS_KEPT_OCTET_H_

#include <cstdint>

#include "models/kernels/host_device.h"

namespace lra {

// A mask [examples, heads, rows, columns], 1 where an element is kept. Of channels: one head, a row
// for each token (a single one under a tied key); of attention weights: a row for each query.
struct KeptPlan {
  const int64_t* example_ids;  // [examples], where the mask is drawn
  int64_t examples, heads, rows, columns;
  uint32_t first_row, first_block;  // a block is eight columns
  uint32_t seed, site_word, step;   // site_word = site << 8 | RandomDomain::kDropout
  uint32_t threshold;
  const int64_t* step_at;  // where the mask is drawn: stands for `step`, which a graph would keep
};

LRA_HOST_DEVICE inline int64_t BlocksOfRow(const KeptPlan& plan) { return (plan.columns + 7) / 8; }
LRA_HOST_DEVICE inline int64_t Octets(const KeptPlan& plan) {
  return plan.examples * plan.heads * plan.rows * BlocksOfRow(plan);
}

// Philox4x32-10 (Salmon et al. 2011), as lra/random.h has it.
LRA_HOST_DEVICE inline void PhiloxInPlace(uint32_t (&c)[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
    c[0] = static_cast<uint32_t>(second >> 32) ^ c[1] ^ key0;
    c[1] = static_cast<uint32_t>(second);
    c[2] = static_cast<uint32_t>(first >> 32) ^ c[3] ^ key1;
    c[3] = static_cast<uint32_t>(first);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

// Writes octet number `octet` of Octets(), fewer elements at the end of a row.
LRA_HOST_DEVICE inline void DrawKeptOctet(const KeptPlan& plan, int64_t octet, bool* mask) {
  const int64_t blocks = BlocksOfRow(plan), block = octet % blocks, line = octet / blocks;
  const int64_t row = line % plan.rows, table = line / plan.rows;
  const int64_t head = table % plan.heads, example = table / plan.heads;
  uint32_t word[4] = {
      static_cast<uint32_t>(head << 18) + plan.first_block + static_cast<uint32_t>(block),
      plan.first_row + static_cast<uint32_t>(row), static_cast<uint32_t>(plan.example_ids[example]),
      plan.step_at == nullptr ? plan.step : static_cast<uint32_t>(*plan.step_at)};
  PhiloxInPlace(word, plan.seed, plan.site_word);
  const int64_t begin = 8 * block;
  const int64_t count = plan.columns - begin < 8 ? plan.columns - begin : 8;
  bool* const out = mask + line * plan.columns + begin;
  for (int64_t i = 0; i < count; ++i)
    out[i] = (word[i / 2] >> (16 * (i % 2)) & 0xFFFF) >= plan.threshold;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_KEPT_OCTET_H_
