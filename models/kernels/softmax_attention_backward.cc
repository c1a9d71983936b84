// The backward of the register form. It runs in parallel over (example, head) and, where these are
// few, over ranges of queries, too, each with its own sums of dK and dV. With a bias, a unit of
// work takes the examples one after the other, since they share the gradient of the bias.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "models/kernels/softmax_attention_products.h"
#include "models/kernels/zero_rows.h"

namespace lra::internal {
namespace {

// The number of units of work to aim at. It is low, because every range of queries costs a dK and a
// dV.
constexpr int64_t kWantedUnits = 8;

template <class Products>
class BackwardWorker : public Worker {
 public:
  BackwardWorker(const Problem& p, const at::Tensor& gradient, const SoftmaxState& state,
                 const at::Tensor& query_gradient, const at::Tensor& bias_gradient)
      : Worker(p),
        gradient_(gradient),
        output_(state.output),
        query_gradient_(query_gradient),
        log_sums_(state.log_sum.const_data_ptr<float>()),
        bias_gradient_(bias_gradient),
        products_(p),
        chunk_(p.chunk_tiles * TileFloats()),
        score_gradients_(kTileFloats),
        key_sums_(p.KeyRows() * p.padded_width),
        value_sums_(p.KeyRows() * p.padded_value_width),
        has_gradient_(p.chunk_tiles) {}

  // Computes the gradients of the queries [begin, end) of one head, and adds up what they give to
  // dK and dV, which is written at the end.
  void Run(const Place& at, int64_t begin, int64_t end, const HeadRows& key_gradient,
           const HeadRows& value_gradient) {
    const int64_t kept = p_.kept.Count(at.example), rows = RoundUp(kept, kKeyTile);
    std::fill_n(key_sums_.get(), rows * p_.padded_width, 0.0f);
    std::fill_n(value_sums_.get(), rows * p_.padded_value_width, 0.0f);
    products_.PackKeys(at);
    const int64_t chunk = p_.chunk_tiles * kQueryTile;
    for (int64_t first = begin; first < end; first += chunk)
      RunChunk(at, first, std::min(end, first + chunk));
    const int32_t* index = p_.kept.Index(at.example, 0);
    for (int64_t j = 0; j < kept; ++j) {
      const int64_t key = index == nullptr ? j : index[j];
      std::copy_n(key_sums_.get() + j * p_.padded_width, p_.width,
                  key_gradient.At(at.example, at.head, key));
      std::copy_n(value_sums_.get() + j * p_.padded_value_width, p_.value_width,
                  value_gradient.At(at.example, at.head, key));
    }
  }

 private:
  // The buffers of one tile of queries in a chunk.
  struct QueryTile {
    float* totals;               // [D][query]: dQ before scaling
    float *log_sums, *row_sums;  // [query]; sum_c dO_c O_c
  };

  int64_t TileFloats() const { return kQueryTile * (p_.padded_width + 2); }
  QueryTile At(int64_t t) const {
    float* totals = chunk_.get() + t * TileFloats();
    float* log_sums = totals + p_.padded_width * kQueryTile;
    return {totals, log_sums, log_sums + kQueryTile};
  }

  void RunChunk(const Place& at, int64_t begin, int64_t end) {
    const int64_t tiles = (end - begin + kQueryTile - 1) / kQueryTile;
    for (int64_t t = 0; t < tiles; ++t) {
      spans_[t] = QuerySpan(p_, at.example, begin + t * kQueryTile, end);
      StartQueries(at, t, At(t));
    }
    for (int64_t first = 0; first < spans_[tiles - 1].most; first += kKeyTile) {
      const KeySpan keys = Tile(at, first);
      for (int64_t t = 0; t < tiles; ++t) AddTile(at, t, keys, At(t));
    }
    float factor[kQueryTile];
    std::fill_n(factor, kQueryTile, p_.scale);
    for (int64_t t = 0; t < tiles; ++t) {
      UnpackColumns(spans_[t].count, p_.width, At(t).totals, factor,
                    query_gradient_.At(at.example, at.head, spans_[t].first),
                    query_gradient_.stride());
    }
  }

  // A tile without a gradient is left out: its dQ is 0, and it adds nothing to the other gradients.
  void StartQueries(const Place& at, int64_t t, const QueryTile& tile) {
    const QuerySpan& span = spans_[t];
    const int64_t count = span.count;
    std::fill_n(tile.totals, p_.padded_width * kQueryTile, 0.0f);
    has_gradient_[t] = HasNonZero(gradient_.At(at.example, at.head, span.first), count,
                                  p_.value_width, gradient_.stride());
    if (!has_gradient_[t]) return;
    products_.PackQueries(at, t, span, gradient_);
    const float* log_sums = log_sums_ + (at.example * p_.heads + at.head) * p_.queries + span.first;
    for (int64_t lane = 0; lane < kQueryTile; ++lane) {
      // Lanes without a query count as rows without keys.
      tile.log_sums[lane] = lane < count ? log_sums[lane] : std::numeric_limits<float>::infinity();
    }
    SumRows(at, span, tile.row_sums);
  }

  // Computes row_sums[q] = sum_c dO_c O_c, which the gradient of the softmax needs, for all queries
  // of the tile side by side.
  void SumRows(const Place& at, const QuerySpan& span, float* row_sums) const {
    constexpr int64_t kColumns = 16;
    float columns[kColumns * kQueryTile], upstream[kColumns * kQueryTile];
    std::fill_n(row_sums, kQueryTile, 0.0f);
    for (int64_t first = 0; first < p_.value_width; first += kColumns) {
      const int64_t width = std::min(kColumns, p_.value_width - first);
      PackColumns(span.count, width, output_.At(at.example, at.head, span.first) + first,
                  output_.stride(), 1.0f, columns);
      PackColumns(span.count, width, gradient_.At(at.example, at.head, span.first) + first,
                  gradient_.stride(), 1.0f, upstream);
      for (int64_t i = 0; i < width * kQueryTile; ++i)
        row_sums[i % kQueryTile] += upstream[i] * columns[i];
    }
  }

  void AddTile(const Place& at, int64_t t, const KeySpan& keys, const QueryTile& tile) {
    const QuerySpan& span = spans_[t];
    const int64_t count = span.VisibleOf(keys);
    if (count == 0 || !has_gradient_[t]) return;
    float* weights = weights_.get();
    float* gradients = score_gradients_.get();
    Scores(products_, at, t, keys, count, tile.log_sums);
    float unused[kQueryTile] = {};
    const float none[kQueryTile] = {};
    ExponentiateTile(count, none, weights, unused);
    products_.ValueProducts(t, keys, count, gradients);
    if (p_.dropout.threshold > 0) {
      DrawBits(at, span, keys, count);
      ScoreGradientsWithDropout(count, tile.row_sums, p_.dropout.threshold, p_.dropout.scale,
                                bits_.data(), weights, gradients);
    } else {
      ScoreGradients(count, tile.row_sums, weights, gradients);
    }
    products_.AddGradients(t, keys, count, weights, gradients,
                           key_sums_.get() + keys.first * p_.padded_width,
                           value_sums_.get() + keys.first * p_.padded_value_width, tile.totals);
    if (bias_gradient_.defined()) AddBiasGradient(at.head, span, keys, count);
  }

  void AddBiasGradient(int64_t head, const QuerySpan& span, const KeySpan& keys, int64_t count) {
    const int64_t all_keys = bias_gradient_.size(2);
    float* rows = const_cast<float*>(bias_gradient_.const_data_ptr<float>()) +
                  (head * p_.queries + span.first) * all_keys;
    for (int64_t lane = 0; lane < span.count; ++lane, rows += all_keys) {
      for (int64_t j = 0; j < count; ++j)
        rows[keys.Original(j)] += score_gradients_.get()[j * kQueryTile + lane];
    }
  }

  const HeadRows gradient_, output_, query_gradient_;
  const float* const log_sums_;
  const at::Tensor bias_gradient_;
  Products products_;
  Floats chunk_;                    // the tiles of the chunk
  Floats score_gradients_;          // [key][query]
  Floats key_sums_, value_sums_;    // [kept key][padded width]: dK and dV of the unit
  std::vector<bool> has_gradient_;  // whether a tile of the chunk has any
};

// Makes a dK or dV for each split. Rows of masked keys are never written, so they are set to 0
// here.
std::vector<at::Tensor> MakeSums(const SoftmaxInput& input, const at::Tensor& like,
                                 int64_t splits) {
  std::vector<at::Tensor> sums;
  for (int64_t i = 0; i < splits; ++i) {
    sums.push_back(EmptyHeads(like, like.size(3)));
    if (input.keep.defined()) sums.back().zero_();
  }
  return sums;
}

at::Tensor Total(const std::vector<at::Tensor>& sums) {
  for (size_t i = 1; i < sums.size(); ++i) sums[0].add_(sums[i]);
  return sums[0];
}

template <class Products>
SoftmaxGradients RunBackward(const at::Tensor& gradient, const SoftmaxInput& input,
                             const SoftmaxState& state) {
  const Problem p(input);
  const bool has_bias = p.bias.defined();
  const int64_t examples = has_bias ? p.batch : 1;  // that a unit takes in turn
  const int64_t splits = p.Splits(p.batch / examples * p.heads, kWantedUnits);
  const std::vector<at::Tensor> key_sums = MakeSums(input, input.k, splits);
  const std::vector<at::Tensor> value_sums = MakeSums(input, input.v, splits);
  const SoftmaxGradients result = {EmptyHeads(input.q, p.width), key_sums[0], value_sums[0],
                                   has_bias ? at::zeros_like(p.bias) : at::Tensor()};
  ForUnits(
      p.batch / examples * p.heads * splits,
      [&] { return BackwardWorker<Products>(p, gradient, state, result.q, result.bias); },
      [&](BackwardWorker<Products>* worker, int64_t unit) {
        const int64_t split = unit % splits, head = unit / splits % p.heads;
        const int64_t first = unit / splits / p.heads * examples;
        const HeadRows keys(key_sums[split]), values(value_sums[split]);
        for (int64_t example = first; example < first + examples; ++example)
          worker->Run({example, head}, p.SplitEdge(split, splits), p.SplitEdge(split + 1, splits),
                      keys, values);
      });
  return {result.q, Total(key_sums), Total(value_sums), result.bias};
}

}  // namespace

SoftmaxGradients SoftmaxBackwardTiled(const at::Tensor& gradient, const SoftmaxInput& input,
                                      const SoftmaxState& state) {
  return state.products == ProductType::kBfloat16
             ? RunBackward<Bfloat16Backward>(gradient, input, state)
             : RunBackward<FloatBackward>(gradient, input, state);
}

}  // namespace lra::internal
