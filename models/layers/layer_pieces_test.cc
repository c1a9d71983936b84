#include "models/layers/layer_pieces.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/bfloat16_paths_test_util.h"
#include "models/base/kernel_path.h"
#include "models/base/product_type.h"
#include "models/base/runtime.h"
#include "models/kernels/token_tiles.h"
#include "models/kernels/unwritten_test_util.h"
#include "models/layers/activation.h"

namespace lra {
namespace {

struct Widths {
  int64_t model, joined, hidden;
};

class Leaves {
 public:
  at::Tensor Make(const std::vector<int64_t>& shape, double shift = 0) {
    tensors_.push_back((at::randn(shape) * 0.3 + shift).set_requires_grad(true));
    return tensors_.back();
  }
  LinearMap Linear(int64_t out, int64_t in, bool has_bias = true) {
    return {Make({out, in}), has_bias ? Make({out}) : at::Tensor()};
  }
  NormMap Norm(int64_t width) { return {Make({width}, 1.0), Make({width}), 1e-5}; }
  // Returns the gradients of body() with respect to all leaves.
  std::vector<at::Tensor> Gradients(const std::function<at::Tensor()>& body) {
    for (at::Tensor& t : tensors_) t.mutable_grad() = at::Tensor();
    body().backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& t : tensors_) gradients.push_back(t.grad().clone());
    return gradients;
  }

 private:
  std::vector<at::Tensor> tensors_;
};

void ExpectClose(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                 double tolerance = 3e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = (a[i] - b[i]).abs().max().item<double>();
    EXPECT_LE(difference, tolerance * std::max(1.0, b[i].abs().max().item<double>()))
        << "tensor " << i;
  }
}

constexpr ActivationKind kActivations[] = {ActivationKind::kGeluErf, ActivationKind::kGeluTanh,
                                           ActivationKind::kRelu};
const Widths kWidths[] = {{64, 64, 128}, {24, 32, 40}, {13, 6, 7}};
// Without an output projection, the heads side by side are as wide as the model. The pre-activation
// of the widest is stored, that of the others is made again.
const Widths kWidthsOfOutputMlp[] = {
    {64, 64, 128}, {24, 32, 40}, {13, 6, 7}, {24, 24, 40}, {136, 20, 24}};

TEST(LayerPiecesTest, NormQkvTiledEqualsGeneric) {
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const bool has_bias : {true, false}) {
      for (const Widths& w : kWidths) {
        Leaves leaves;
        const at::Tensor x = leaves.Make({3, 211, w.model}, 0.5);
        NormQkvParameters p;
        p.norm = leaves.Norm(w.model);
        p.query = leaves.Linear(w.joined, w.model, has_bias);
        p.key = leaves.Linear(w.joined, w.model, has_bias);
        p.value = leaves.Linear(w.joined, w.model, has_bias);
        p.heads = 2;
        const at::Tensor g = at::randn({3, 2, 211, w.joined / 2});
        const auto loss = [&](const Qkv& qkv) {
          return (qkv.q * g + qkv.k * g * 2 + qkv.v * (g + 1)).sum();
        };
        const Qkv tiled = internal::NormQkvTiled(x, p), generic = internal::NormQkvGeneric(x, p);
        ExpectClose({tiled.q, tiled.k, tiled.v}, {generic.q, generic.k, generic.v});
        ExpectClose(leaves.Gradients([&] { return loss(internal::NormQkvTiled(x, p)); }),
                    leaves.Gradients([&] { return loss(internal::NormQkvGeneric(x, p)); }));
      }
    }
  }
}

TEST(LayerPiecesTest, OutputMlpTiledEqualsGeneric) {
  for (const KernelPath path : AvailableKernelPaths()) {
    ScopedKernelPath use(path);
    for (const ActivationKind kind : kActivations) {
      for (const Widths& w : kWidthsOfOutputMlp) {
        Leaves leaves;
        const at::Tensor attended = leaves.Make({3, 2, 211, w.joined / 2}),
                         x = leaves.Make({3, 211, w.model});
        OutputMlpParameters p;
        if (w.joined != 24) p.output = leaves.Linear(w.model, w.joined);
        p.norm = leaves.Norm(w.model);
        p.hidden = leaves.Linear(w.hidden, w.model);
        p.projection = leaves.Linear(w.model, w.hidden);
        p.activation = kind;
        const at::Tensor ids = at::tensor(std::vector<int64_t>{8, 1, 4}, at::kLong);
        const OutputMlpDropout dropout = {
            {0.1, 1, 2, 3, ids}, {0.2, 1, 2, 4, ids}, {0.3, 1, 2, 5, ids}};
        const at::Tensor g = at::randn({3, 211, w.model});
        for (const OutputMlpDropout& keys : {dropout, OutputMlpDropout()}) {
          ExpectClose({internal::OutputMlpTiled(attended, x, p, keys)},
                      {internal::OutputMlpGeneric(attended, x, p, keys)});
          ExpectClose(leaves.Gradients([&] {
            return (internal::OutputMlpTiled(attended, x, p, keys) * g).sum();
          }),
                      leaves.Gradients([&] {
                        return (internal::OutputMlpGeneric(attended, x, p, keys) * g).sum();
                      }));
        }
      }
    }
  }
}

struct MlpCase {
  int64_t width, hidden;
  bool has_bias;
};

// The generic form is LibTorch's operations, and on a path of ours has the same bits with ReLU.
TEST(LayerPiecesTest, MlpTiledEqualsGeneric) {
  for (const ActivationKind kind : kActivations) {
    for (const MlpCase& c : {MlpCase{24, 40, true}, {13, 7, false}, {136, 24, true}}) {
      Leaves leaves;
      const at::Tensor y = leaves.Make({3, 211, c.width}), g = at::randn({3, 211, c.width});
      OutputMlpParameters p;
      p.hidden = leaves.Linear(c.hidden, c.width, c.has_bias);
      p.projection = leaves.Linear(c.width, c.hidden, c.has_bias);
      p.activation = kind;
      const at::Tensor ids = at::tensor(std::vector<int64_t>{8, 1, 4}, at::kLong);
      for (const DropoutKey& key : {DropoutKey{0.2, 1, 2, 4, ids}, DropoutKey()}) {
        // The gradients, and the output where none is asked for.
        const auto run = [&](auto* mlp, KernelPath path) {
          const ScopedKernelPath use(path);
          std::vector<at::Tensor> all =
              leaves.Gradients([&] { return (mlp(y, p, key) * g).sum(); });
          const c10::NoGradGuard no_gradient;
          all.push_back(mlp(y, p, key));
          return all;
        };
        const std::vector<at::Tensor> exact = run(internal::MlpGeneric, KernelPath::kGeneric);
        for (const KernelPath path : AvailableKernelPaths()) {
          SCOPED_TRACE(testing::Message() << KernelPathName(path) << ", width " << c.width);
          const std::vector<at::Tensor> tiled = run(internal::MlpTiled, path);
          ExpectClose(tiled, exact);
          if (kind != ActivationKind::kRelu || path == KernelPath::kGeneric) continue;
          const std::vector<at::Tensor> maps = run(internal::MlpGeneric, path);
          for (size_t i = 0; i < maps.size(); ++i) EXPECT_TRUE(at::equal(tiled[i], maps[i])) << i;
        }
      }
    }
  }
}

// The tiles round the factors of products, and their sums stay in float32.
void ExpectBfloat16NearFloat32() {
  at::manual_seed(8);
  constexpr double kTolerance = 3.0 / 256;
  for (const Widths& w : kWidths) {
    Leaves leaves;
    const at::Tensor attended = leaves.Make({3, 2, 211, w.joined / 2}),
                     x = leaves.Make({3, 211, w.model});
    OutputMlpParameters p;
    p.output = leaves.Linear(w.model, w.joined);
    p.norm = leaves.Norm(w.model);
    p.hidden = leaves.Linear(w.hidden, w.model);
    p.projection = leaves.Linear(w.model, w.hidden);
    NormQkvParameters qkv;
    qkv.norm = p.norm;
    qkv.query = leaves.Linear(w.joined, w.model);
    qkv.key = leaves.Linear(w.joined, w.model);
    qkv.value = leaves.Linear(w.joined, w.model);
    qkv.heads = 2;
    const auto body = [&] {
      const Qkv projected = internal::NormQkvTiled(x, qkv);
      const at::Tensor out = internal::OutputMlpTiled(attended, x, p, OutputMlpDropout());
      const at::Tensor mlp = internal::MlpTiled(x, p, DropoutKey());
      return out.square().sum() + mlp.square().sum() +
             (projected.q * projected.k * projected.v).sum();
    };
    const auto in_bfloat16 = [&] {
      const PrecisionScope bfloat16(true, at::kCPU);
      return body();
    };
    const std::vector<at::Tensor> exact = leaves.Gradients(body);
    const std::vector<at::Tensor> forward_only = leaves.Gradients(in_bfloat16);
    const PrecisionScope bfloat16(true, at::kCPU);
    const std::vector<at::Tensor> rounded = leaves.Gradients(body);
    ExpectClose(rounded, exact, kTolerance);
    for (size_t i = 0; i < rounded.size(); ++i) {
      EXPECT_FALSE(at::equal(rounded[i], exact[i])) << "nothing was rounded";
      EXPECT_TRUE(at::equal(rounded[i], forward_only[i])) << "a backward asks what its thread does";
    }
  }
}

TEST(LayerPiecesTest, Bfloat16TilesStayNearFloat32) { ForBfloat16Paths(ExpectBfloat16NearFloat32); }

constexpr int64_t kExamples = 4;

// The pieces with random parameters and dropout, on some tokens of each of four examples.
struct AllPieces {
  AllPieces(int64_t tokens, const Widths& w)
      : attended(leaves.Make({kExamples, 2, tokens, w.joined / 2})),
        x(leaves.Make({kExamples, tokens, w.model})),
        g(at::randn({kExamples, tokens, w.model})),
        of_heads(at::randn({kExamples, 2, tokens, w.joined / 2})) {
    mlp.output = leaves.Linear(w.model, w.joined);
    mlp.norm = leaves.Norm(w.model);
    mlp.hidden = leaves.Linear(w.hidden, w.model);
    mlp.projection = leaves.Linear(w.model, w.hidden);
    qkv.norm = leaves.Norm(w.model);
    qkv.query = leaves.Linear(w.joined, w.model);
    qkv.key = leaves.Linear(w.joined, w.model);
    qkv.value = leaves.Linear(w.joined, w.model);
    qkv.heads = 2;
  }
  OutputMlpDropout Dropout(int64_t first, int64_t count) const {
    const at::Tensor ids = at::arange(first, first + count, at::kLong);
    return {{0.1, 1, 2, 3, ids}, {0.2, 1, 2, 4, ids}, {0.3, 1, 2, 5, ids}};
  }

  Leaves leaves;
  at::Tensor attended, x, g, of_heads;  // the last two: gradients of y, and of q, k and v
  OutputMlpParameters mlp;
  NormQkvParameters qkv;
};

struct Asked {
  at::Tensor rows, of_queries;           // which rows of y, k and v, and of q, get a gradient
  int64_t first = 0, count = kExamples;  // the examples that are computed
};

// The gradients of all leaves; those of attended and x come first. Half of the upstream's zeros are
// -0, products of a number and 0.
std::vector<at::Tensor> GradientsOfAsked(bool is_tiled, const Asked& asked, AllPieces* p) {
  const auto part = [&](const at::Tensor& t) { return t.narrow(0, asked.first, asked.count); };
  std::optional<UnwrittenIsNaN> unwritten;
  if (is_tiled) unwritten.emplace();
  return p->leaves.Gradients([&] {
    const at::Tensor x = part(p->x), attended = part(p->attended);
    const OutputMlpDropout dropout = p->Dropout(asked.first, asked.count);
    const Qkv qkv =
        is_tiled ? internal::NormQkvTiled(x, p->qkv) : internal::NormQkvGeneric(x, p->qkv);
    const at::Tensor y = is_tiled ? internal::OutputMlpTiled(attended, x, p->mlp, dropout)
                                  : internal::OutputMlpGeneric(attended, x, p->mlp, dropout);
    const at::Tensor z = is_tiled ? internal::MlpTiled(x, p->mlp, dropout.hidden)
                                  : internal::MlpGeneric(x, p->mlp, dropout.hidden);
    const at::Tensor g = part(p->g * asked.rows.unsqueeze(2));
    const at::Tensor of_heads = p->of_heads * asked.rows.unsqueeze(1).unsqueeze(3);
    const at::Tensor of_queries = p->of_heads * asked.of_queries.unsqueeze(1).unsqueeze(3);
    return (y * g).sum() + (z * g * 3).sum() + (qkv.q * part(of_queries)).sum() +
           (qkv.k * part(of_heads * 2)).sum() + (qkv.v * part(of_heads * -1)).sum();
  });
}

std::vector<std::pair<std::string, at::Tensor>> RowsThatAreAsked(int64_t tokens) {
  const at::Tensor row = at::arange(kExamples * tokens).view({kExamples, tokens});
  const at::Tensor token = at::arange(tokens).expand({kExamples, tokens});
  return {{"the first token", row.eq(0)},
          {"the last token", row.eq(kExamples * tokens - 1)},
          {"the first token of each example", token.eq(0)},
          {"what is not padded", token < 70},
          {"a few", at::rand({kExamples, tokens}) < 0.002},
          {"a whole tile", (row >= kTileTokens).logical_and(row < 2 * kTileTokens)},
          {"none", row < 0}};
}

// The gradient of a row does not depend on those of others: the same bits, and zeros where nothing
// was asked.
TEST(LayerPiecesTest, RowsWithoutGradientAreLeftOut) {
  constexpr int64_t kTokens = 611;
  for (const Widths& w : {Widths{24, 32, 40}, Widths{136, 20, 24}}) {
    AllPieces p(kTokens, w);
    const at::Tensor every = at::ones({kExamples, kTokens}, at::kBool);
    for (const auto& [name, rows] : RowsThatAreAsked(kTokens)) {
      const auto generic = GradientsOfAsked(false, {rows, rows}, &p);
      const auto generic_queries = GradientsOfAsked(false, {every, rows}, &p);
      for (const KernelPath path : AvailableKernelPaths()) {
        SCOPED_TRACE(name + ", " + KernelPathName(path));
        const ScopedKernelPath use(path);
        const auto all = GradientsOfAsked(true, {every, every}, &p);
        const auto some = GradientsOfAsked(true, {rows, rows}, &p);
        EXPECT_TRUE(at::equal(some[0], all[0] * rows.unsqueeze(1).unsqueeze(3)));
        EXPECT_TRUE(at::equal(some[1], all[1] * rows.unsqueeze(2)));
        ExpectClose(some, generic);
        ExpectClose(GradientsOfAsked(true, {every, rows}, &p), generic_queries);
      }
    }
  }
}

// Tiles without a gradient change no bit of any gradient: each is that of the other examples alone.
// One thread's tiles are whole examples here, and it adds them in their order.
TEST(LayerPiecesTest, TilesWithoutGradientAddNothing) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  AllPieces p(kTileTokens, {24, 32, 40});
  const at::Tensor example = at::arange(kExamples).unsqueeze(1).expand({kExamples, kTileTokens});
  const at::Tensor rows = example.eq(1).logical_or(example.eq(2));
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    for (const bool is_bfloat16 : {false, true}) {
      SCOPED_TRACE(testing::Message() << KernelPathName(path) << ", bfloat16 " << is_bfloat16);
      const ProductTypeScope products(is_bfloat16);
      const auto some = GradientsOfAsked(true, {rows, rows}, &p);
      const auto alone = GradientsOfAsked(true, {rows, rows, 1, 2}, &p);
      for (size_t i = 0; i < some.size(); ++i) EXPECT_TRUE(at::equal(some[i], alone[i])) << i;
    }
  }
  at::set_num_threads(threads);
}

// What a token holds is not seen where nothing of its tile is asked, though it is not a number.
TEST(LayerPiecesTest, NotANumberIsNotSeenWhereNothingIsAsked) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  AllPieces p(kTileTokens, {24, 32, 40});
  const at::Tensor rows = at::arange(kExamples).unsqueeze(1).expand({kExamples, kTileTokens}).eq(1);
  const auto clean = GradientsOfAsked(true, {rows, rows}, &p);
  for (const at::Tensor& t : {p.x, p.attended})
    t.detach()[0].fill_(std::numeric_limits<float>::quiet_NaN());
  const auto dirty = GradientsOfAsked(true, {rows, rows}, &p);
  for (size_t i = 0; i < clean.size(); ++i) EXPECT_TRUE(at::equal(dirty[i], clean[i])) << i;
  at::set_num_threads(threads);
}

// Compares activations and their slopes with those of LibTorch in float64.
TEST(RowsTest, ActivationsAndTheirSlopes) {
  const at::Tensor x = at::linspace(-12, 12, 4801);
  for (const ActivationKind kind : kActivations) {
    at::Tensor exact = x.to(at::kDouble).set_requires_grad(true);
    const at::Tensor expected = Activate(exact, kind);
    expected.sum().backward();
    for (const KernelPath path : AvailableKernelPaths()) {
      ScopedKernelPath use(path);
      at::Tensor forward = at::empty_like(x), value = at::empty_like(x), slope = at::ones_like(x);
      ActivationRows(kind, x.const_data_ptr<float>(), x.numel(), forward.mutable_data_ptr<float>());
      ActivationBackwardRows(kind, x.const_data_ptr<float>(), x.numel(),
                             value.mutable_data_ptr<float>(), slope.mutable_data_ptr<float>());
      EXPECT_TRUE(at::equal(forward, value));
      EXPECT_LT((forward - expected).abs().max().item<double>(), 1.5e-6);
      EXPECT_LT((slope - exact.grad()).abs().max().item<double>(), 1.5e-6);
    }
  }
}

TEST(RowsTest, NotANumberStays) {
  const float nan[] = {std::numeric_limits<float>::quiet_NaN()};
  for (const ActivationKind kind : kActivations) {
    float out[1] = {};
    ActivationRows(kind, nan, 1, out);
    EXPECT_TRUE(std::isnan(out[0]));
  }
}

}  // namespace
}  // namespace lra
