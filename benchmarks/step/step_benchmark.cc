// Times one training step: forward, loss, backward, AdamW. Prints a line in the form of
// benchmarks/step/eager_step.py, which times the same model in eager PyTorch.
//
//   lra_step_benchmark ATTENTION N B [--padded] [--no-malloc-tuning] [--kernels NAME]
//
// With --padded, lengths fall evenly from N to N/2; otherwise all are N. --kernels forces generic,
// baseline, avx2 or avx512 code; the line says which ran. Environment variables,
// e.g. T=2 L=2 E=64 HD=32 M=128 S=6, set threads, layers, model width, head width, MLP width and
// timed steps.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/timing.h"
#include "lra/config.h"
#include "lra/random.h"
#include "models/base/kernel_path.h"
#include "models/base/runtime.h"
#include "models/classifier.h"

namespace lra {
namespace {

constexpr int kClasses = 10;
constexpr int kVocabulary = 512;

int FromEnvironment(const char* name, int fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::atoi(value);
}

struct Sizes {
  std::string attention;
  int64_t tokens = 0, batch = 0;
  int layers = FromEnvironment("L", 2), width = FromEnvironment("E", 64),
      head = FromEnvironment("HD", 32);
  int mlp = FromEnvironment("M", 128), steps = FromEnvironment("S", 6);
  bool is_padded = false;
};

ExperimentConfig MakeConfig(const Sizes& sizes) {
  ExperimentConfig config;
  config.set_seed(1);
  config.mutable_view()->set_max_length_tokens(static_cast<int>(sizes.tokens));
  *config.mutable_attention() = LoadAttentionFile(sizes.attention)->attention();
  ModelConfig* model = config.mutable_model();
  model->set_layers(sizes.layers);
  model->set_width(sizes.width);
  model->set_heads(sizes.width / sizes.head);
  model->set_qkv_width(sizes.width);
  model->set_mlp_width(sizes.mlp);
  model->set_head_width(sizes.mlp);
  model->set_positions(ModelConfig::LEARNED);
  model->set_pooling(ModelConfig::MEAN);
  model->set_activation(ModelConfig::GELU_ERF);
  model->set_attention_bias(true);
  model->set_dropout(0.1f);
  model->set_norm_epsilon(1e-5f);
  model->set_embedding_stddev(1.0f);
  return config;
}

HostBatch MakeBatch(const Sizes& sizes) {
  HostBatch batch;
  batch.batch = sizes.batch;
  batch.length = sizes.tokens;
  batch.tokens.assign(sizes.batch * sizes.tokens, 0);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    RandomStream stream(1, RandomDomain::kTest, {static_cast<uint32_t>(b), 0, 0});
    const int64_t cut =
        sizes.is_padded ? sizes.tokens / 2 * b / std::max<int64_t>(1, sizes.batch - 1) : 0;
    batch.lengths.push_back(static_cast<int32_t>(sizes.tokens - cut));
    batch.labels.push_back(static_cast<int32_t>(stream.Below(kClasses)));
    batch.example_ids.push_back(b);
    for (int64_t t = 0; t < sizes.tokens - cut; ++t) {
      batch.tokens[b * sizes.tokens + t] = static_cast<int32_t>(1 + stream.Below(255));
    }
  }
  return batch;
}

// AdamW as the trainer applies it.
class Optimiser {
 public:
  explicit Optimiser(const ParameterStore& store) {
    for (const Parameter& parameter : store.parameters()) {
      values_.push_back(parameter.value);
      first_.push_back(at::zeros_like(parameter.value.detach()));
      second_.push_back(at::zeros_like(parameter.value.detach()));
      counts_.push_back(at::zeros({}, at::kFloat));
    }
  }
  void Clear() {
    for (at::Tensor& value : values_) value.mutable_grad() = at::Tensor();
  }
  void Step() {
    c10::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (size_t i = 0; i < values_.size(); ++i) {
      gradients.push_back(values_[i].grad());
      counts_[i].add_(1);
    }
    at::_fused_adamw_(values_, gradients, first_, second_, {}, counts_, 1e-4, 0.9, 0.999, 0.01,
                      1e-8, false, false);
  }

 private:
  std::vector<at::Tensor> values_, first_, second_, counts_;
};

double MedianStepSeconds(const Sizes& sizes) {
  TaskSpec spec;
  spec.set_vocabulary_size(kVocabulary);
  spec.set_classes(kClasses);
  auto model = Classifier::Create(MakeConfig(sizes), spec);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().ToString().c_str());
    std::exit(2);
  }
  const HostBatch batch = MakeBatch(sizes);
  const at::Tensor labels = at::tensor(batch.labels, at::kInt).to(at::kLong);
  Optimiser optimiser((*model)->parameters());
  std::vector<double> seconds;
  for (int step = -2; step < sizes.steps; ++step) {
    const double elapsed = SecondsOf([&] {
      optimiser.Clear();
      const at::Tensor logits = (*model)->Forward(batch, {true, static_cast<uint32_t>(step + 2)});
      at::cross_entropy_loss(logits, labels).backward();
      optimiser.Step();
    });
    if (step >= 0) seconds.push_back(elapsed);
  }
  return Median(seconds);
}

int Main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: lra_step_benchmark ATTENTION N B [--padded] [--no-malloc-tuning] "
                 "[--kernels NAME]\n");
    return 2;
  }
  Sizes sizes;
  sizes.attention = std::string(argv[1]) == "softmax" ? "transformer" : argv[1];
  sizes.tokens = std::atoll(argv[2]);
  sizes.batch = std::atoll(argv[3]);
  bool tunes = true;
  std::string kernels;
  for (int i = 4; i < argc; ++i) {
    if (std::string(argv[i]) == "--padded") sizes.is_padded = true;
    if (std::string(argv[i]) == "--no-malloc-tuning") tunes = false;
    if (std::string(argv[i]) == "--kernels" && i + 1 < argc) kernels = argv[++i];
  }
  const int threads = FromEnvironment("T", 2);
  const absl::Status started = tunes ? StartRuntime(threads, kernels) : ForceKernelPath(kernels);
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", std::string(started.message()).c_str());
    return 2;
  }
  if (!tunes) at::set_num_threads(threads);
  const double t = MedianStepSeconds(sizes);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%s N=%lld B=%lld L=%d E=%d: %.1f ms a step, %.1f ktokens/s, peak %.2f GB, kernels %s\n",
      argv[1], static_cast<long long>(sizes.tokens), static_cast<long long>(sizes.batch),
      sizes.layers, sizes.width, t * 1e3, sizes.batch * sizes.tokens / t / 1e3,
      usage.ru_maxrss / 1e6, KernelPathName(ActiveKernelPath()));
  return 0;
}

}  // namespace
}  // namespace lra

int main(int argc, char** argv) { return lra::Main(argc, argv); }
