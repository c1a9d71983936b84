#include "models/layers/convolution_layer.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/base/kernel_path.h"
#include "models/kernels/token_tiles.h"

namespace lra {
namespace {

constexpr int64_t kTokens = 531;

// A layer with random parameters; the second example is shorter and has holes.
struct Layer {
  explicit Layer(int64_t width, bool has_mask = true) {
    at::manual_seed(4);
    const auto leaf = [](at::Tensor t) { return t.set_requires_grad(true); };
    x = leaf(at::randn({3, kTokens, width}));
    p.norm = {leaf(at::randn({width}) * 0.3 + 1), leaf(at::randn({width}) * 0.3), 1e-5};
    p.map = {leaf(at::randn({width, 3 * width}) * 0.2), leaf(at::randn({width}))};
    p.taps = {3, 1, 64, true};
    upstream = at::randn({3, kTokens, width});
    if (!has_mask) return;
    mask.lengths = at::tensor({kTokens, int64_t{300}, int64_t{0}}, at::kLong);
    mask.keep = at::arange(kTokens) < mask.lengths.unsqueeze(1);
    mask.keep[1].narrow(0, 40, 3).fill_(false);
    mask.keep[1].narrow(0, 250, 20).fill_(false);
    // Nobody asks for the outputs of padded tokens.
    upstream = upstream.masked_fill(mask.keep.logical_not().unsqueeze(2), 0);
  }

  std::vector<at::Tensor> Leaves() const {
    return {x, p.norm.weight, p.norm.bias, p.map.weight, p.map.bias};
  }

  at::Tensor x, upstream;
  TokenMask mask;
  ConvolutionLayerParameters p;
};

using LayerForm = at::Tensor (*)(const at::Tensor&, const TokenMask&,
                                 const ConvolutionLayerParameters&, const DropoutKey&);

// The output, and the gradients of all leaves.
std::vector<at::Tensor> WithGradients(LayerForm form, const Layer& layer,
                                      const DropoutKey& dropout) {
  for (at::Tensor& t : layer.Leaves()) t.mutable_grad() = at::Tensor();
  const at::Tensor y = form(layer.x, layer.mask, layer.p, dropout);
  y.backward(layer.upstream);
  std::vector<at::Tensor> all = {y.detach()};
  for (const at::Tensor& t : layer.Leaves()) all.push_back(t.grad().clone());
  return all;
}

DropoutKey Dropped(float probability) {
  return {probability, 1, 2, 3, at::tensor({8, 1, 4}, at::kLong)};
}

void ExpectTiledEqualsGeneric(const Layer& layer, float dropped, const std::string& what) {
  const auto tiled = WithGradients(internal::ConvolutionLayerTiled, layer, Dropped(dropped));
  const auto generic = WithGradients(internal::ConvolutionLayerGeneric, layer, Dropped(dropped));
  for (size_t i = 0; i < tiled.size(); ++i) {
    EXPECT_LE((tiled[i] - generic[i]).abs().max().item<double>(),
              3e-5 * std::max(1.0, generic[i].abs().max().item<double>()))
        << what << ", tensor " << i;
  }
}

TEST(ConvolutionLayerTest, TiledEqualsGeneric) {
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    for (const int64_t width : {7, 64}) {
      for (const bool has_mask : {false, true}) {
        Layer layer(width, has_mask);
        layer.p.activation = has_mask ? ActivationKind::kGeluErf : ActivationKind::kGeluTanh;
        for (const float dropped : {0.0f, 0.3f}) {
          ExpectTiledEqualsGeneric(layer, dropped,
                                   absl::StrCat(KernelPathName(path), ", width ", width));
        }
      }
    }
  }
}

// What poolings ask for: one token, as many as there are channels, those of one stretch; all but
// a few; nothing.
TEST(ConvolutionLayerTest, TokensWithoutGradientAreLeftOut) {
  at::manual_seed(5);
  const at::Tensor chance = at::rand({3, kTokens, 1}), places = at::arange(kTokens).view({-1, 1});
  const std::vector<std::pair<std::string, at::Tensor>> asked = {
      {"first", places.eq(0)},
      {"some", chance < 0.05},
      {"a stretch", (places > 250).logical_and(places < 300)},
      {"most", chance < 0.9},
      {"none", places < 0}};
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    for (const bool has_mask : {false, true}) {
      Layer layer(has_mask ? 24 : 64, has_mask);
      layer.p.taps.is_circular = has_mask;
      const at::Tensor all = layer.upstream;
      for (const auto& [name, is_asked] : asked) {
        layer.upstream = all.masked_fill(is_asked.logical_not(), 0);
        ExpectTiledEqualsGeneric(layer, 0.3f, absl::StrCat(KernelPathName(path), ", ", name));
      }
    }
  }
}

// Five examples, of which the second and the third are short.
Layer FiveExamples() {
  Layer layer(24);
  const at::Tensor from = at::tensor({0, 1, 1, 0, 0}, at::kLong);
  layer.mask.lengths = layer.mask.lengths.index_select(0, from);
  layer.mask.keep = layer.mask.keep.index_select(0, from);
  layer.x = at::randn({5, kTokens, 24}).set_requires_grad(true);
  layer.upstream =
      at::randn({5, kTokens, 24}).masked_fill(layer.mask.keep.logical_not().unsqueeze(2), 0);
  return layer;
}

// What WithGradients() gives for some of the five examples alone, with this many threads: y and the
// gradient of x in these examples' order, then the gradients of the parameters.
std::vector<at::Tensor> OnThreads(int threads, const Layer& five,
                                  const std::vector<int64_t>& examples) {
  const at::Tensor index = at::tensor(examples, at::kLong);
  Layer some = five;
  some.mask.lengths = five.mask.lengths.index_select(0, index);
  some.mask.keep = five.mask.keep.index_select(0, index);
  some.x = five.x.detach().index_select(0, index).set_requires_grad(true);
  some.upstream = five.upstream.index_select(0, index);
  DropoutKey dropout = Dropped(0.3f);
  dropout.example_ids = at::tensor({8, 1, 4, 7, 2}, at::kLong).index_select(0, index);
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  std::vector<at::Tensor> all = WithGradients(internal::ConvolutionLayerTiled, some, dropout);
  at::set_num_threads(before);
  return all;
}

void ExpectRows(const std::vector<at::Tensor>& all, const std::vector<int64_t>& examples,
                const std::vector<at::Tensor>& alone) {
  const at::Tensor index = at::tensor(examples, at::kLong);
  for (const size_t i : {0, 1})
    EXPECT_TRUE(all[i].index_select(0, index).equal(alone[i])) << "tensor " << i;
}

// Where the number of threads divides the batch, thread s sums up examples s, s + threads, ..
TEST(ConvolutionLayerTest, AThreadSumsUpItsExamplesInOrder) {
  const Layer five = FiveExamples();
  for (const int threads : {2, 4}) {
    const std::vector<at::Tensor> together = OnThreads(threads, five, {0, 1, 2, 3});
    std::vector<at::Tensor> sums;
    for (int64_t first = 0; first < threads; ++first) {
      std::vector<int64_t> examples;
      for (int64_t e = first; e < 4; e += threads) examples.push_back(e);
      const std::vector<at::Tensor> own = OnThreads(1, five, examples);
      ExpectRows(together, examples, own);
      if (sums.empty()) {
        sums = own;
        continue;
      }
      for (size_t i = 2; i < own.size(); ++i) sums[i] = sums[i] + own[i];
    }
    for (size_t i = 2; i < together.size(); ++i)
      EXPECT_TRUE(together[i].equal(sums[i])) << threads << " threads, tensor " << i;
  }
}

// What is left over is shared out by tiles: the first thread has the first of the last example's
// three, the second thread the others. A tile's part of the map's gradient needs its own outputs'
// gradients alone; that of the norm's gradient also those that the taps reach.
TEST(ConvolutionLayerTest, ThreadsShareTheTilesOfWhatIsLeft) {
  const Layer five = FiveExamples();
  Layer front = five, back = five;
  front.upstream = five.upstream.clone();
  front.upstream[4].narrow(0, kTileTokens, kTokens - kTileTokens).zero_();
  back.upstream = five.upstream.clone();
  back.upstream[4].narrow(0, 0, kTileTokens).zero_();
  const std::vector<at::Tensor> together = OnThreads(2, five, {0, 1, 2, 3, 4});
  ExpectRows(together, {4}, OnThreads(1, five, {4}));
  const std::vector<at::Tensor> first = OnThreads(1, front, {0, 2, 4});
  const std::vector<at::Tensor> second = OnThreads(1, back, {1, 3, 4});
  for (size_t i = 2; i < together.size(); ++i) {
    const at::Tensor sum = first[i] + second[i];
    const bool is_of_map = i >= 4;
    const double most = (together[i] - sum).abs().max().item<double>();
    EXPECT_LE(most, is_of_map ? 0 : 3e-5 * std::max(1.0, sum.abs().max().item<double>()))
        << "tensor " << i;
  }
}

// Not even the gradients of the parameters see what a padded token holds.
TEST(ConvolutionLayerTest, WhatPaddedTokensHoldGetsNowhere) {
  const Layer clean(16), dirty(16);
  dirty.x.detach().masked_fill_(dirty.mask.keep.logical_not().unsqueeze(2),
                                std::numeric_limits<float>::quiet_NaN());
  const auto expected = WithGradients(ConvolutionLayer, clean, Dropped(0.3f));
  const auto found = WithGradients(ConvolutionLayer, dirty, Dropped(0.3f));
  const at::Tensor real = clean.mask.keep.unsqueeze(2);
  EXPECT_TRUE(found[0].masked_select(real).equal(expected[0].masked_select(real)));
  for (size_t i = 1; i < found.size(); ++i) EXPECT_TRUE(found[i].equal(expected[i])) << i;
}

TEST(ConvolutionLayerTest, WithoutGradientsItIsTheSame) {
  const Layer layer(64);
  const at::Tensor kept = ConvolutionLayer(layer.x, layer.mask, layer.p, Dropped(0.3f));
  const c10::NoGradGuard no_gradient;
  EXPECT_TRUE(ConvolutionLayer(layer.x, layer.mask, layer.p, Dropped(0.3f)).equal(kept));
}

}  // namespace
}  // namespace lra
