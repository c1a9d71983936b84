// Easy Pathfinder-32 as this program makes it can be learned: a small convolutional network learns
// it. (The first release of the 128 x 128 pictures could not be learned, and nobody noticed for
// months: google-research/long-range-arena, issue 38.)
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "datasets/loader.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"
#include "tasks/prepare.h"

namespace lra {
namespace {

constexpr int64_t kWidth = 32, kBatch = 64, kImages = 1'000'000, kScored = 5'000;
constexpr double kLearningRate = 4e-3;

// A 5 x 5 convolution with stride 2, six residual 3 x 3 ones (some of them dilated), the largest
// value of each channel, and a linear layer. It is normalised by the batch's own statistics, in
// training and in evaluation.
class Network {
 public:
  Network() {
    Add({kWidth, 1, 5, 5}, 25);
    for (int i = 0; i < 6; ++i) Add({kWidth, kWidth, 3, 3}, 9 * kWidth);
    Add({2, kWidth}, kWidth);
  }

  at::Tensor Forward(const at::Tensor& pictures) const {  // [B, 1, 32, 32]
    constexpr int kDilation[] = {1, 1, 2, 1, 2, 1};
    at::Tensor x = Normalised(at::conv2d(pictures, weights_[0], {}, 2, 2));
    for (int i = 0; i < 6; ++i) {
      x = x + Normalised(at::conv2d(x, weights_[i + 1], {}, 1, kDilation[i], kDilation[i]));
    }
    return at::linear(x.amax({2, 3}), weights_[7]);  // [B, 2]
  }

  // Adam (Kingma & Ba 2015) with a learning rate that rises for a tenth of the steps and then falls
  // to 0 as a half cosine.
  void Step(const at::Tensor& loss, int64_t step, int64_t steps) {
    loss.backward();
    const double t = static_cast<double>(step + 1), warm_up = 0.1 * static_cast<double>(steps);
    const double rate =
        kLearningRate * (t < warm_up
                             ? t / warm_up
                             : 0.5 * (1 + std::cos(std::numbers::pi * (t - warm_up) /
                                                   (static_cast<double>(steps) - warm_up))));
    for (size_t i = 0; i < weights_.size(); ++i) {
      const at::Tensor gradient = weights_[i].grad();
      first_[i].mul_(0.9).add_(gradient, 0.1);
      second_[i].mul_(0.999).addcmul_(gradient, gradient, 0.001);
      const at::Tensor size = (second_[i] / (1 - std::pow(0.999, t))).sqrt_().add_(1e-8);
      weights_[i].data().addcdiv_(first_[i] / (1 - std::pow(0.9, t)), size, -rate);
      weights_[i].mutable_grad() = at::Tensor();
    }
  }

 private:
  void Add(at::IntArrayRef shape, int64_t fan_in) {
    RandomStream random(1, RandomDomain::kTest, {static_cast<uint32_t>(weights_.size()), 0, 0});
    at::Tensor weight = at::empty(shape);
    float* values = weight.mutable_data_ptr<float>();
    for (int64_t i = 0; i < weight.numel(); ++i) {
      values[i] =
          static_cast<float>(random.Normal() * std::sqrt(2.0 / static_cast<double>(fan_in)));
    }
    weights_.push_back(weight.set_requires_grad(true));
    first_.push_back(at::zeros(shape));
    second_.push_back(at::zeros(shape));
  }

  static at::Tensor Normalised(const at::Tensor& x) {
    return at::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false).relu();
  }

  std::vector<at::Tensor> weights_, first_, second_;
};

at::Tensor Pictures(const HostBatch& batch) {
  at::Tensor x = at::empty({batch.batch, 1, 32, 32});
  std::transform(batch.tokens.begin(), batch.tokens.end(), x.mutable_data_ptr<float>(),
                 [](int32_t id) { return static_cast<float>(id) / 255.0f; });
  return x;
}

at::Tensor Labels(const HostBatch& batch) {
  at::Tensor y = at::empty({batch.batch}, at::kLong);
  std::copy(batch.labels.begin(), batch.labels.end(), y.mutable_data_ptr<int64_t>());
  return y;
}

double Accuracy(const Network& network, const SplitView& split, int64_t examples_scored) {
  int64_t correct = 0;
  for (const std::vector<int64_t>& examples : PlanEvaluation(split, 250, examples_scored)) {
    const HostBatch batch = MakeBatch(split, examples);
    correct += network.Forward(Pictures(batch)).argmax(1).eq(Labels(batch)).sum().item<int64_t>();
  }
  return static_cast<double>(correct) / static_cast<double>(examples_scored);
}

TEST(PathfinderLearnableTest, ASmallConvolutionalNetworkReadsTheEasyPictures) {
  const TestFolder folder;
  PrepareOptions options{.task = "pathfinder32", .out = folder.File("easy")};
  // Enough for a single pass: making pictures costs less than training on them twice.
  options.set = {"difficulty=EASY", absl::StrCat("images=", kImages)};
  options.quiet = true;
  ASSERT_TRUE(Prepare(options).ok());
  DataView view;
  view.set_split(DataView::SLICES);
  const auto data = Dataset::Open(options.out, {});
  ASSERT_TRUE(data.ok()) << data.status();
  const SplitView train = *SplitView::Create(*data, "train", view);
  const SplitView test = *SplitView::Create(*data, "test", view);
  Network network;
  const int64_t steps = train.size() / kBatch;
  TrainLoader loader(train, {.seed = 0, .batch_examples = kBatch}, {});
  double loss_sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const HostBatch batch = loader.Next();
    const at::Tensor loss = at::cross_entropy_loss(network.Forward(Pictures(batch)), Labels(batch));
    loss_sum += loss.item<double>();
    network.Step(loss, step, steps);
    if (step % 500 == 499) {
      std::cout << "step " << step + 1 << ", mean loss " << loss_sum / 500 << std::endl;
      loss_sum = 0;
    }
  }
  at::NoGradGuard no_gradients;
  const double accuracy = Accuracy(network, test, kScored);
  std::cout << "accuracy on " << kScored << " test pictures: " << accuracy << std::endl;
  EXPECT_GE(accuracy, 0.90);
}

}  // namespace
}  // namespace lra
