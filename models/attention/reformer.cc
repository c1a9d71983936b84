// reformer: softmax attention among tokens that locality-sensitive hashing puts together.
// Source: Kitaev et al. 2020 ("Reformer"), section 2 and eqs. 2-6; masks and rounds as in
// lucidrains/reformer-pytorch. The keys are the queries, scaled to length 1:
//   s_ij = q_i . q_j / (|q_j| sqrt(D)),  s_ii = -1e5
// In round r, token i has the bucket argmax [q_i M_r, -q_i M_r], where M_r is a random matrix. The
// tokens are sorted by (bucket, position) and cut into chunks of C; a token sees its own chunk and
// the one before. One softmax covers all rounds:
//   o_i = sum_j softmax_j(s_ij + log c_ij) v_j,  c_ij = number of rounds in which i sees j
// This is the sum over rounds, weighted by their log-sum-exps, and by default what lucidrains'
// program does. The paper differs in two ways, and so does the authors' class by default: its eq. 6
// is a union of rounds, in which a key counts once (appendix A subtracts log c_ij), as it does with
// is_deduplicated, where c_ij is 1; and its eqs. 3-5 mask keys of other buckets, which the form
// that is not causal sees here; no option masks them. Unlike in the published programs, the first
// chunk does not wrap around to the last, padded tokens are sorted behind all others, and the
// number of buckets follows from the longest sequence that there may be; so padding changes
// nothing.
//
// Causal: chunks begin anew in each bucket. A token whose bucket has r earlier ones is in the
// bucket's chunk floor(r / C), and sees those up to itself in this chunk and in the one before in
// the same bucket. The published programs mask later keys only, and let later tokens move the
// borders of chunks: which keys are seen then tells of the future.
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/reformer.pb.h"
#include "models/attention/reformer_chunks.h"
#include "models/attention/reformer_stream.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/grouped_attention.h"
#include "models/kernels/noise.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

constexpr double kSmallestNorm = 1e-6;
constexpr int64_t kHashedTokens = 4096;  // so many tokens are hashed at a time

struct Settings {
  int64_t chunk_tokens, training_rounds, rounds, buckets;
  bool is_deduplicated;
};

Traits MakeTraits() {
  Traits traits;
  traits.label = "Reformer";
  traits.summary = "softmax attention among tokens that hashing puts together";
  traits.source = "Kitaev et al. 2020, section 2 and eqs. 2-6";
  traits.is_row_stochastic = true;
  // Tokens with equal buckets are ordered by position, and chunks cut that order.
  traits.is_permutation_invariant = false;
  traits.supports_weight_dropout = true;
  traits.causality = Causality::kOptional;
  traits.supports_streaming = true;
  traits.projections = Projections::kSharedQueryKey;
  traits.bfloat16_reason = "a query near a border between hashes goes over it";
  traits.time_order = "R N (C D + n_b D + log N)";
  traits.memory_order = "N D + R N";
  return traits;
}

// Returns the queries, with 0 at padded tokens, and the keys: the queries scaled to length 1.
std::pair<at::Tensor, at::Tensor> QueriesAndKeys(const AttentionInput& input) {
  at::Tensor q = input.q;
  if (input.keep.defined()) {
    q = q.masked_fill(input.keep.logical_not().view({q.size(0), 1, -1, 1}), 0);
  }
  return {q, q / q.norm(2, -1, true).clamp_min(kSmallestNorm)};
}

class Reformer : public Attention {
 public:
  // `rotations` [rounds, D, buckets / 2] are the matrices M_r of evaluation; training draws its
  // own.
  Reformer(const Settings& settings, int64_t heads, at::Tensor rotations)
      : s_(settings), heads_(heads), rotations_(std::move(rotations)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const auto [q, k] = QueriesAndKeys(input);
    const at::Tensor rotations = Rotations(input);
    std::vector<AttentionGroups> parts;
    std::vector<at::Tensor> chunks;  // for each round, the chunk of each token, [B H N]
    for (int64_t r = 0; r < rotations.size(0); ++r) {
      const at::Tensor bucket = Bucket(q.detach(), input.keep, rotations[r]), order = Order(bucket);
      if (input.causal) {
        const BucketChunks round(bucket, order, 2 * rotations.size(2), s_.chunk_tokens);
        if (s_.is_deduplicated) chunks.push_back(round.OfTokens().flatten());
        parts.push_back(round.Groups());
      } else {
        if (s_.is_deduplicated) chunks.push_back(ChunkOfTokens(order));
        parts.push_back(Round(order, input.keep));
      }
      // The own key is in one round alone: beside -1e5, the logarithm of a sum over R rounds has
      // too few digits for the gradient of a token that sees no other.
      parts.back().hides_self_pairs = r > 0;
    }
    if (s_.is_deduplicated) {
      for (AttentionGroups& part : parts) {
        part.bias = [=, tokens = q.size(2)](const GroupTile& tile) {
          return RoundsSeen(chunks, tile, tokens).to(at::kDouble).log().neg();
        };
      }
    }
    return GroupedAttention(q, k, input.v, input.keep, std::move(parts), input.weight_dropout);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const auto [q, k] = QueriesAndKeys(input);
    const at::Tensor rotations = Rotations(input).to(q.options());
    at::Tensor counts = at::zeros({q.size(0), q.size(1), q.size(2), q.size(2)}, at::kDouble);
    for (int64_t r = 0; r < rotations.size(0); ++r) {
      const at::Tensor turned = at::matmul(q.detach(), rotations[r]);
      const at::Tensor bucket = at::cat({turned, -turned}, -1).argmax(-1).cpu();
      for (int64_t e = 0; e < q.size(0); ++e) {
        const at::Tensor keep = input.keep.defined() ? input.keep[e].cpu() : at::Tensor();
        for (int64_t h = 0; h < q.size(1); ++h) {
          if (input.causal) {
            CountEarlier(bucket[e][h], keep, counts[e][h]);
          } else {
            CountPairs(bucket[e][h], keep, counts[e][h]);
          }
        }
      }
    }
    const at::Tensor pairs = counts > 0;
    if (s_.is_deduplicated) counts.clamp_max_(1);
    const at::Tensor self = at::eye(q.size(2), q.options().dtype(at::kBool));
    const at::Tensor logits =
        at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(3)));
    return DenseMaskedSoftmax(
        logits.masked_fill(self, kSelfLogit) + counts.clamp_min(1).log().to(q.options()), input.v,
        input.keep, pairs.to(q.device()), input.weight_dropout);
  }

  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    return InitHashedState(Stream(), batch, options);
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    const at::NoGradGuard no_grad;
    const auto [q, k] = QueriesAndKeys(piece);
    std::vector<at::Tensor> buckets;
    for (int64_t r = 0; r < rotations_.size(0); ++r)
      buckets.push_back(Bucket(q, at::Tensor(), rotations_[r]));
    return ExtendHashed(Stream(), {q, k, piece.v, piece.keep, at::stack(buckets)}, state);
  }

 private:
  HashedStream Stream() const {
    return {.heads = heads_,
            .head_width = rotations_.size(1),
            .rounds = rotations_.size(0),
            .buckets = 2 * rotations_.size(2),
            .chunk_tokens = s_.chunk_tokens,
            .is_deduplicated = s_.is_deduplicated};
  }

  // Returns the matrices M_r. In training they are drawn anew for each step and each place in the
  // model.
  at::Tensor Rotations(const AttentionInput& input) const {
    if (!input.is_training) return rotations_;
    return NormalNoise(input.weight_dropout,
                       {s_.training_rounds, rotations_.size(1), rotations_.size(2)},
                       input.q.device());
  }

  // Returns the buckets of the tokens, [B, H, N]: 0, 1, .. and behind them one for padded tokens.
  static at::Tensor Bucket(const at::Tensor& q, const at::Tensor& keep,
                           const at::Tensor& rotation) {
    const at::NoGradGuard no_grad;
    const int64_t n = q.size(2);
    const at::Tensor map = rotation.to(q.options());
    std::vector<at::Tensor> buckets;
    for (int64_t start = 0; start < n; start += kHashedTokens) {
      const at::Tensor turned =
          at::matmul(q.narrow(2, start, std::min(kHashedTokens, n - start)), map);
      const auto [most, up] = turned.max(-1);
      const auto [least, down] = turned.min(-1);
      buckets.push_back(at::where(most >= -least, up, down + map.size(1)));
    }
    at::Tensor bucket = at::cat(buckets, 2);
    if (keep.defined()) bucket.masked_fill_(keep.logical_not().unsqueeze(1), 2 * map.size(1));
    return bucket;
  }

  // Returns the positions of the tokens, sorted by (bucket, position), [B, H, N].
  static at::Tensor Order(const at::Tensor& bucket) {
    const int64_t n = bucket.size(2);
    return at::argsort(bucket * n + at::arange(n, bucket.options()), int64_t{-1}, false);
  }

  AttentionGroups Round(at::Tensor order, const at::Tensor& keep) const {
    if (keep.defined()) {  // padded tokens are sorted last
      const at::Tensor is_padded = at::arange(keep.size(1), order.options()) >= keep.sum(1, true);
      order = order.masked_fill(is_padded.unsqueeze(1), -1);
    }
    const int64_t n = order.size(2), c = std::min(s_.chunk_tokens, n), chunks = (n + c - 1) / c;
    const auto options = order.options().dtype(at::kBool);
    AttentionGroups round;
    round.queries.starts =
        at::constant_pad_nd(order, {0, chunks * c - n}, -1).view({order.size(0), -1, chunks, c});
    round.keys = round.queries;
    round.self_pairs = at::eye(c, options);
    if (chunks > 1) {
      const at::Tensor before =
          at::constant_pad_nd(round.queries.starts.narrow(2, 0, chunks - 1), {0, 0, 1, 0}, -1);
      round.keys.starts = at::cat({before, round.queries.starts}, 3);
      round.self_pairs = at::cat({at::zeros({c, c}, options), round.self_pairs}, 1);
    }
    return round;
  }

  at::Tensor ChunkOfTokens(const at::Tensor& order) const {
    const at::Tensor chunk =
        at::arange(order.size(2), order.options()).floor_divide(s_.chunk_tokens);
    return at::empty_like(order).scatter_(2, order, chunk.expand_as(order)).flatten();
  }

  // Returns [G, Lq, Lk]: the number of rounds in which a query sees a key, at least 1.
  static at::Tensor RoundsSeen(const std::vector<at::Tensor>& chunks, const GroupTile& tile,
                               int64_t tokens) {
    const at::Tensor first = (tile.tables * tokens).view({-1, 1, 1});
    at::Tensor seen;
    for (const at::Tensor& chunk : chunks) {
      const auto of = [&](const at::Tensor& places) {
        return chunk.index({first + places.clamp_min(0)});
      };
      const at::Tensor back = of(tile.queries) - of(tile.keys);
      const at::Tensor here = (back == 0).logical_or(back == 1).to(at::kLong);
      seen = seen.defined() ? seen + here : here;
    }
    return seen.clamp_min(1);
  }

  // Adds 1 to counts [N, N] for each pair of tokens that see each other in the round with the
  // buckets bucket [N].
  void CountPairs(const at::Tensor& bucket, const at::Tensor& keep, at::Tensor counts) const {
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (int64_t i = 0; i < bucket.size(0); ++i) {
      if (keep.defined() && !keep[i].item<bool>()) continue;
      sorted.emplace_back(bucket[i].item<int64_t>(), i);
    }
    std::sort(sorted.begin(), sorted.end());
    auto count = counts.accessor<double, 2>();
    for (int64_t a = 0; a < static_cast<int64_t>(sorted.size()); ++a) {
      const int64_t chunk = a / s_.chunk_tokens;
      const int64_t begin = std::max<int64_t>(0, (chunk - 1) * s_.chunk_tokens);
      const int64_t end = std::min<int64_t>(sorted.size(), (chunk + 1) * s_.chunk_tokens);
      for (int64_t b = begin; b < end; ++b) count[sorted[a].second][sorted[b].second] += 1;
    }
  }

  // The same for the causal form.
  void CountEarlier(const at::Tensor& bucket, const at::Tensor& keep, at::Tensor counts) const {
    std::map<int64_t, std::vector<int64_t>> so_far;  // the kept tokens of each bucket
    auto count = counts.accessor<double, 2>();
    for (int64_t i = 0; i < bucket.size(0); ++i) {
      if (keep.defined() && !keep[i].item<bool>()) continue;
      std::vector<int64_t>& own = so_far[bucket[i].item<int64_t>()];
      const int64_t rank = static_cast<int64_t>(own.size()), chunk = rank / s_.chunk_tokens;
      own.push_back(i);
      const int64_t begin = std::max<int64_t>(0, (chunk - 1) * s_.chunk_tokens);
      for (int64_t r = begin; r <= rank; ++r) count[i][own[r]] += 1;
    }
  }

  const Traits traits_ = MakeTraits();
  const Settings s_;
  const int64_t heads_;
  const at::Tensor rotations_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeReformer(const ReformerOptions& options,
                                                        const AttentionContext& context) {
  Settings s = {.chunk_tokens = options.chunk_tokens(),
                .training_rounds = options.training_rounds(),
                .rounds = options.rounds(),
                .buckets = options.buckets(),
                .is_deduplicated = options.is_deduplicated()};
  if (s.buckets % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.buckets: is ", s.buckets,
                     "; set an even number, or 0 for one for each chunk"));
  }
  const int64_t pair = 2 * s.chunk_tokens;
  if (s.buckets == 0) {
    s.buckets = 2 * std::max<int64_t>(1, (context.max_length_tokens + pair - 1) / pair);
  }
  LRA_CHECK(context.parameters != nullptr);
  const at::Tensor rotations = context.parameters->CreateBuffer(
      absl::StrCat(context.scope, "rotations"), {s.rounds, context.head_width, s.buckets / 2},
      Initializer::Normal(1));
  return std::make_unique<Reformer>(s, context.heads, rotations);
}

LRA_REGISTER_ATTENTION("reformer", ReformerOptions, MakeReformer);

}  // namespace
}  // namespace lra
