// The forward of the register form. It runs in parallel over (example, head, range of queries).
#include <cmath>
#include <limits>

#include "models/kernels/softmax_attention_products.h"

namespace lra::internal {
namespace {

// Scores, to base 2, may exceed the reference by so much before sums are scaled down. A weight is
// then at most 2^30, which float32 holds without loss of relative precision.
constexpr float kHeadroom = 30.0f;

template <class Products>
class ForwardWorker : public Worker {
 public:
  ForwardWorker(const Problem& p, const SoftmaxState& state)
      : Worker(p),
        output_(state.output),
        log_sums_(const_cast<float*>(state.log_sum.const_data_ptr<float>())),
        products_(p),
        totals_(p.chunk_tiles * p.padded_value_width * kQueryTile),
        references_(p.chunk_tiles * kQueryTile),
        sums_(p.chunk_tiles * kQueryTile) {}

  // Computes the outputs of the queries [begin, end) of one head.
  void Run(const Place& at, int64_t begin, int64_t end) {
    products_.PackKeys(at);
    const int64_t chunk = p_.chunk_tiles * kQueryTile;
    for (int64_t first = begin; first < end; first += chunk)
      RunChunk(at, first, std::min(end, first + chunk));
  }

 private:
  int64_t TotalFloats() const { return p_.padded_value_width * kQueryTile; }

  void RunChunk(const Place& at, int64_t begin, int64_t end) {
    const int64_t tiles = (end - begin + kQueryTile - 1) / kQueryTile;
    std::fill_n(totals_.get(), tiles * TotalFloats(), 0.0f);
    std::fill_n(references_.get(), tiles * kQueryTile, 0.0f);
    std::fill_n(sums_.get(), tiles * kQueryTile, 0.0f);
    for (int64_t t = 0; t < tiles; ++t) {
      spans_[t] = QuerySpan(p_, at.example, begin + t * kQueryTile, end);
      products_.PackQueries(at, t, spans_[t]);
    }
    for (int64_t first = 0; first < spans_[tiles - 1].most; first += kKeyTile) {
      const KeySpan keys = Tile(at, first);
      for (int64_t t = 0; t < tiles; ++t) AddTile(at, t, keys);
    }
    for (int64_t t = 0; t < tiles; ++t) Finish(at, t);
  }

  void AddTile(const Place& at, int64_t t, const KeySpan& keys) {
    const int64_t count = spans_[t].VisibleOf(keys);
    if (count == 0) return;
    float* total = totals_.get() + t * TotalFloats();
    float shift[kQueryTile];
    Scores(products_, at, t, keys, count, references_.get() + t * kQueryTile);
    MoveReference(t, keys.first == 0, count, total, shift);
    ExponentiateTile(count, shift, weights_.get(), sums_.get() + t * kQueryTile);
    if (p_.dropout.threshold > 0) {
      DrawBits(at, spans_[t], keys, count);
      DropWeights(count, p_.dropout.threshold, bits_.data(), weights_.get());
    }
    products_.AddValues(keys, count, weights_.get(), total);
  }

  // Exponentials are taken relative to a reference of each row: the maximum of its first tile.
  // References are raised to the maximum so far where a score of a later tile exceeds its reference
  // by more than kHeadroom. Sets `shift` to how much each reference rises, and scales the sums
  // accordingly.
  void MoveReference(int64_t t, bool is_first, int64_t count, float* total, float* shift) {
    float highest[kQueryTile], fade[kQueryTile];
    HighestScores(count, weights_.get(), highest);
    std::fill_n(shift, kQueryTile, 0.0f);
    if (!is_first && *std::max_element(highest, highest + kQueryTile) <= kHeadroom) return;
    float* reference = references_.get() + t * kQueryTile;
    float* sum = sums_.get() + t * kQueryTile;
    for (int64_t lane = 0; lane < kQueryTile; ++lane) {
      const float lowest = is_first ? kHiddenScore / 2 : 0.0f;
      if (highest[lane] > lowest) shift[lane] = highest[lane];
      reference[lane] += shift[lane];
      fade[lane] = is_first ? 1.0f : std::exp2(-shift[lane]);
      sum[lane] *= fade[lane];
    }
    if (is_first) return;
    for (int64_t i = 0; i < TotalFloats(); ++i) total[i] *= fade[i % kQueryTile];
  }

  void Finish(const Place& at, int64_t t) {
    const QuerySpan& span = spans_[t];
    float factor[kQueryTile];
    float* log_sums = log_sums_ + (at.example * p_.heads + at.head) * p_.queries + span.first;
    for (int64_t lane = 0; lane < span.count; ++lane) {
      const float sum = *(sums_.get() + (t * kQueryTile + lane));
      factor[lane] = sum == 0 ? 0.0f : p_.dropout.scale / sum;
      log_sums[lane] = sum == 0 ? std::numeric_limits<float>::infinity()
                                : *(references_.get() + (t * kQueryTile + lane)) + std::log2(sum);
    }
    UnpackColumns(span.count, p_.value_width, totals_.get() + t * TotalFloats(), factor,
                  output_.At(at.example, at.head, span.first), output_.stride());
  }

  const HeadRows output_;
  float* const log_sums_;
  Products products_;
  // For each tile of the chunk: [Dv][query], [query], [query].
  Floats totals_, references_, sums_;
};

template <class Products>
void RunForward(const Problem& p, const SoftmaxState& state) {
  constexpr int64_t kWantedUnits = 32;
  const int64_t splits = p.Splits(p.batch * p.heads, kWantedUnits);
  ForUnits(
      p.batch * p.heads * splits, [&] { return ForwardWorker<Products>(p, state); },
      [&](ForwardWorker<Products>* worker, int64_t unit) {
        const int64_t split = unit % splits, row = unit / splits;
        worker->Run({row / p.heads, row % p.heads}, p.SplitEdge(split, splits),
                    p.SplitEdge(split + 1, splits));
      });
}

}  // namespace

SoftmaxState SoftmaxForwardTiled(const SoftmaxInput& input) {
  const Problem p(input);
  const SoftmaxState state = {EmptyHeads(input.q, p.value_width),
                              at::empty({p.batch, p.heads, p.queries}, input.q.options()),
                              ActiveProductType()};
  if (state.products == ProductType::kBfloat16) {
    RunForward<Bfloat16Forward>(p, state);
  } else {
    RunForward<FloatForward>(p, state);
  }
  return state;
}

}  // namespace lra::internal
