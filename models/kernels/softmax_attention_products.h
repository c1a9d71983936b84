// The matrix products of tiled softmax attention, with what they read: keys, values and queries of
// one head, packed. One class a type and direction; workers are templates over them.
//
//   PackKeys(at)                        the kept keys and values of a head
//   PackQueries(at, t, span, ...)       the queries of tile t of a chunk; backward: dO, too
//   Scores(t, keys, count, start, out)  out[j][q] = start[q] + log2(e) / sqrt(D) q . k_j for the
//                                       first `count` keys, or out += that if start is null
//   AddValues(keys, count, w, total)    total[c][q] += sum_j w[j][q] v_jc
//   ValueProducts(t, keys, count, out)  out[j][q] = dO_q . v_j
//   AddGradients(t, keys, count, w, g, dk, dv, dq)
//                                       dk[j] += sum_q g[j][q] q / sqrt(D), dv[j] += sum_q w[j][q]
//                                       dO_q, dq[c][q] += sum_j g[j][q] k_jc
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_PRODUCTS_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_PRODUCTS_H_

#include <cstdint>

#include "models/kernels/bfloat16_product.h"
#include "models/kernels/floats.h"
#include "models/kernels/softmax_attention_worker.h"

namespace lra::internal {

// What both directions share.
class FloatProducts {
 public:
  void Scores(int64_t t, const KeySpan& keys, int64_t count, const float* start, float* out) const;
  void PackKeys(const Place& at);

 protected:
  explicit FloatProducts(const Problem& p);
  void PackQueryColumns(const Place& at, int64_t t, const QuerySpan& span);

  const Problem& p_;
  const Floats keys_, values_;  // [kept key][padded width]

 private:
  const Floats columns_;  // [tile][padded width][query]
};

class FloatForward : public FloatProducts {
 public:
  explicit FloatForward(const Problem& p) : FloatProducts(p) {}
  void PackQueries(const Place& at, int64_t t, const QuerySpan& span) {
    PackQueryColumns(at, t, span);
  }
  void AddValues(const KeySpan& keys, int64_t count, const float* weights, float* total) const;
};

class FloatBackward : public FloatProducts {
 public:
  explicit FloatBackward(const Problem& p);
  void PackQueries(const Place& at, int64_t t, const QuerySpan& span, const HeadRows& upstream);
  void ValueProducts(int64_t t, const KeySpan& keys, int64_t count, float* out) const;
  void AddGradients(int64_t t, const KeySpan& keys, int64_t count, const float* weights,
                    const float* gradients, float* dk, float* dv, float* dq) const;

 private:
  const Floats upstream_columns_;      // [tile][padded width][query]
  const Floats rows_, upstream_rows_;  // [tile][query][padded width]
};

using Bfloat16s = Scratch<BFloat16>;

class Bfloat16Products {
 public:
  void Scores(int64_t t, const KeySpan& keys, int64_t count, const float* start, float* out) const;

 protected:
  explicit Bfloat16Products(const Problem& p);
  void PackQueryColumns(const Place& at, int64_t t, const QuerySpan& span);

  const Problem& p_;
  const Bfloat16s keys_;    // [kept key][padded width]
  const Bfloat16s values_;  // forward: [kept key / 2][padded width][2]; backward: as keys

 private:
  const Bfloat16s columns_;  // [tile][padded width / 2][query][2]
};

class Bfloat16Forward : public Bfloat16Products {
 public:
  explicit Bfloat16Forward(const Problem& p) : Bfloat16Products(p), weights_(kTileFloats) {}
  void PackKeys(const Place& at);
  void PackQueries(const Place& at, int64_t t, const QuerySpan& span) {
    PackQueryColumns(at, t, span);
  }
  void AddValues(const KeySpan& keys, int64_t count, const float* weights, float* total) const;

 private:
  const Bfloat16s weights_;  // [key / 2][query][2]
};

class Bfloat16Backward : public Bfloat16Products {
 public:
  explicit Bfloat16Backward(const Problem& p);
  void PackKeys(const Place& at);
  void PackQueries(const Place& at, int64_t t, const QuerySpan& span, const HeadRows& upstream);
  void ValueProducts(int64_t t, const KeySpan& keys, int64_t count, float* out) const;
  void AddGradients(int64_t t, const KeySpan& keys, int64_t count, const float* weights,
                    const float* gradients, float* dk, float* dv, float* dq) const;

 private:
  const Bfloat16s key_pairs_;             // [kept key / 2][padded width][2]
  const Bfloat16s upstream_columns_;      // [tile][padded width / 2][query][2]
  const Bfloat16s rows_, upstream_rows_;  // [tile][query / 2][padded width][2]
  const Bfloat16s rounded_;               // [key][query]: weights, then score gradients
  const Bfloat16s paired_;                // [key / 2][query][2]: score gradients
};

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_PRODUCTS_H_
