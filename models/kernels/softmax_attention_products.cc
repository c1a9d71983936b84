#include "models/kernels/softmax_attention_products.h"

namespace lra::internal {
namespace {

// All kept keys of one head: rows of a projection lie far apart, and every chunk of queries passes
// over them.
void PackKept(const Problem& p, const Place& at, const HeadRows& source, int64_t width,
              int64_t padded_width, float* out) {
  const int64_t count = p.kept.Count(at.example);
  PackRows({count, RoundUp(count, kKeyTile), width, padded_width},
           source.At(at.example, at.head, 0), source.stride(), p.kept.Index(at.example, 0), 1.0f,
           out);
}

RoundedBlock KeptBlock(const Problem& p, const Place& at, const HeadRows& source, int64_t width) {
  return {source.At(at.example, at.head, 0), p.kept.Count(at.example), width, source.stride(),
          p.kept.Index(at.example, 0)};
}

RoundedBlock QueryBlock(const Place& at, const QuerySpan& span, const HeadRows& source,
                        int64_t width, float factor) {
  return {source.At(at.example, at.head, span.first),
          span.count,
          width,
          source.stride(),
          nullptr,
          factor};
}

// Pairs of rows of a tile, where rows that are missing are 0.
void PairQueries(const RoundedBlock& block, int64_t padded_width, BFloat16* out) {
  const int64_t pairs = (block.rows + 1) / 2;
  PairRows(block, padded_width, out);
  std::fill(out + 2 * pairs * padded_width, out + kQueryTile * padded_width, BFloat16(0.0f));
}

}  // namespace

FloatProducts::FloatProducts(const Problem& p)
    : p_(p),
      keys_(p.KeyRows() * p.padded_width),
      values_(p.KeyRows() * p.padded_value_width),
      columns_(p.chunk_tiles * p.padded_width * kQueryTile) {}

void FloatProducts::PackKeys(const Place& at) {
  PackKept(p_, at, p_.k, p_.width, p_.padded_width, keys_.get());
  PackKept(p_, at, p_.v, p_.value_width, p_.padded_value_width, values_.get());
}

void FloatProducts::PackQueryColumns(const Place& at, int64_t t, const QuerySpan& span) {
  PackColumns(span.count, p_.width, p_.q.At(at.example, at.head, span.first), p_.q.stride(),
              p_.scale * kLog2E, columns_.get() + t * p_.padded_width * kQueryTile);
}

void FloatProducts::Scores(int64_t t, const KeySpan& keys, int64_t count, const float* start,
                           float* out) const {
  MultiplyTile(TileProduct{count, p_.width, kQueryTile, keys_.get() + keys.first * p_.padded_width,
                           p_.padded_width, false,
                           columns_.get() + t * p_.padded_width * kQueryTile, kQueryTile, start,
                           out, kQueryTile});
}

void FloatForward::AddValues(const KeySpan& keys, int64_t count, const float* weights,
                             float* total) const {
  MultiplyTile(TileProduct{
      p_.value_width, count, kQueryTile, values_.get() + keys.first * p_.padded_value_width,
      p_.padded_value_width, true, weights, kQueryTile, nullptr, total, kQueryTile});
}

FloatBackward::FloatBackward(const Problem& p)
    : FloatProducts(p),
      upstream_columns_(p.chunk_tiles * p.padded_value_width * kQueryTile),
      rows_(p.chunk_tiles * p.padded_width * kQueryTile),
      upstream_rows_(p.chunk_tiles * p.padded_value_width * kQueryTile) {}

void FloatBackward::PackQueries(const Place& at, int64_t t, const QuerySpan& span,
                                const HeadRows& upstream) {
  const float* q = p_.q.At(at.example, at.head, span.first);
  const float* dO = upstream.At(at.example, at.head, span.first);
  const int64_t tile = t * kQueryTile * p_.padded_width;
  const int64_t value_tile = t * kQueryTile * p_.padded_value_width;
  PackQueryColumns(at, t, span);
  PackColumns(span.count, p_.value_width, dO, upstream.stride(), 1.0f,
              upstream_columns_.get() + value_tile);
  PackRows({span.count, kQueryTile, p_.width, p_.padded_width}, q, p_.q.stride(), nullptr, p_.scale,
           rows_.get() + tile);
  PackRows({span.count, kQueryTile, p_.value_width, p_.padded_value_width}, dO, upstream.stride(),
           nullptr, 1.0f, upstream_rows_.get() + value_tile);
}

void FloatBackward::ValueProducts(int64_t t, const KeySpan& keys, int64_t count, float* out) const {
  constexpr float kNone[kQueryTile] = {};
  MultiplyTile(TileProduct{count, p_.value_width, kQueryTile,
                           values_.get() + keys.first * p_.padded_value_width,
                           p_.padded_value_width, false,
                           upstream_columns_.get() + t * p_.padded_value_width * kQueryTile,
                           kQueryTile, kNone, out, kQueryTile});
}

void FloatBackward::AddGradients(int64_t t, const KeySpan& keys, int64_t count,
                                 const float* weights, const float* gradients, float* dk, float* dv,
                                 float* dq) const {
  const int64_t width = p_.padded_width, value_width = p_.padded_value_width;
  MultiplyTile(TileProduct{count, kQueryTile, value_width, weights, kQueryTile, false,
                           upstream_rows_.get() + t * kQueryTile * value_width, value_width,
                           nullptr, dv, value_width});
  MultiplyTile(TileProduct{count, kQueryTile, width, gradients, kQueryTile, false,
                           rows_.get() + t * kQueryTile * width, width, nullptr, dk, width});
  MultiplyTile(TileProduct{p_.width, count, kQueryTile, keys_.get() + keys.first * width, width,
                           true, gradients, kQueryTile, nullptr, dq, kQueryTile});
}

Bfloat16Products::Bfloat16Products(const Problem& p)
    : p_(p),
      keys_(p.KeyRows() * p.padded_width),
      values_(p.KeyRows() * p.padded_value_width),
      columns_(p.chunk_tiles * p.padded_width * kQueryTile) {}

void Bfloat16Products::PackQueryColumns(const Place& at, int64_t t, const QuerySpan& span) {
  PairColumns(QueryBlock(at, span, p_.q, p_.width, p_.scale * kLog2E), kQueryTile,
              columns_.get() + t * p_.padded_width * kQueryTile);
}

void Bfloat16Products::Scores(int64_t t, const KeySpan& keys, int64_t count, const float* start,
                              float* out) const {
  MultiplyTile(Bfloat16Product{count, RoundUp(p_.width, 2), kQueryTile,
                               keys_.get() + keys.first * p_.padded_width, p_.padded_width, false,
                               columns_.get() + t * p_.padded_width * kQueryTile, kQueryTile, start,
                               out, kQueryTile});
}

void Bfloat16Forward::PackKeys(const Place& at) {
  RoundRows(KeptBlock(p_, at, p_.k, p_.width), p_.padded_width, keys_.get());
  PairRows(KeptBlock(p_, at, p_.v, p_.value_width), p_.padded_value_width, values_.get());
}

void Bfloat16Forward::AddValues(const KeySpan& keys, int64_t count, const float* weights,
                                float* total) const {
  PairRows({weights, count, kQueryTile, kQueryTile}, kQueryTile, weights_.get());
  MultiplyTile(Bfloat16Product{p_.value_width, RoundUp(count, 2), kQueryTile,
                               values_.get() + keys.first * p_.padded_value_width,
                               p_.padded_value_width, true, weights_.get(), kQueryTile, nullptr,
                               total, kQueryTile});
}

Bfloat16Backward::Bfloat16Backward(const Problem& p)
    : Bfloat16Products(p),
      key_pairs_(p.KeyRows() * p.padded_width),
      upstream_columns_(p.chunk_tiles * p.padded_value_width * kQueryTile),
      rows_(p.chunk_tiles * p.padded_width * kQueryTile),
      upstream_rows_(p.chunk_tiles * p.padded_value_width * kQueryTile),
      rounded_(kTileFloats),
      paired_(kTileFloats) {}

void Bfloat16Backward::PackKeys(const Place& at) {
  const RoundedBlock keys = KeptBlock(p_, at, p_.k, p_.width);
  RoundRows(keys, p_.padded_width, keys_.get());
  PairRows(keys, p_.padded_width, key_pairs_.get());
  RoundRows(KeptBlock(p_, at, p_.v, p_.value_width), p_.padded_value_width, values_.get());
}

void Bfloat16Backward::PackQueries(const Place& at, int64_t t, const QuerySpan& span,
                                   const HeadRows& upstream) {
  const int64_t tile = t * kQueryTile * p_.padded_width;
  const int64_t value_tile = t * kQueryTile * p_.padded_value_width;
  const RoundedBlock dO = QueryBlock(at, span, upstream, p_.value_width, 1.0f);
  PackQueryColumns(at, t, span);
  PairColumns(dO, kQueryTile, upstream_columns_.get() + value_tile);
  PairQueries(QueryBlock(at, span, p_.q, p_.width, p_.scale), p_.padded_width, rows_.get() + tile);
  PairQueries(dO, p_.padded_value_width, upstream_rows_.get() + value_tile);
}

void Bfloat16Backward::ValueProducts(int64_t t, const KeySpan& keys, int64_t count,
                                     float* out) const {
  constexpr float kNone[kQueryTile] = {};
  MultiplyTile(Bfloat16Product{count, RoundUp(p_.value_width, 2), kQueryTile,
                               values_.get() + keys.first * p_.padded_value_width,
                               p_.padded_value_width, false,
                               upstream_columns_.get() + t * p_.padded_value_width * kQueryTile,
                               kQueryTile, kNone, out, kQueryTile});
}

void Bfloat16Backward::AddGradients(int64_t t, const KeySpan& keys, int64_t count,
                                    const float* weights, const float* gradients, float* dk,
                                    float* dv, float* dq) const {
  const int64_t width = p_.padded_width, value_width = p_.padded_value_width;
  RoundRows({weights, count, kQueryTile, kQueryTile}, kQueryTile, rounded_.get());
  MultiplyTile(Bfloat16Product{count, kQueryTile, value_width, rounded_.get(), kQueryTile, false,
                               upstream_rows_.get() + t * kQueryTile * value_width, value_width,
                               nullptr, dv, value_width});
  const RoundedBlock scores = {gradients, count, kQueryTile, kQueryTile};
  RoundRows(scores, kQueryTile, rounded_.get());
  MultiplyTile(Bfloat16Product{count, kQueryTile, width, rounded_.get(), kQueryTile, false,
                               rows_.get() + t * kQueryTile * width, width, nullptr, dk, width});
  PairRows(scores, kQueryTile, paired_.get());
  MultiplyTile(Bfloat16Product{p_.width, RoundUp(count, 2), kQueryTile,
                               key_pairs_.get() + keys.first * width, width, true, paired_.get(),
                               kQueryTile, nullptr, dq, kQueryTile});
}

}  // namespace lra::internal
