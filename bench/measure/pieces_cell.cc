// A step's pieces, each forward and backward by itself on inputs of the step's sizes: where its
// time goes, and how much of what the machine reaches each of them uses.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/normal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/cost.h"
#include "bench/measure/measure.h"
#include "bench/measure/step_model.h"
#include "bench/measure/timing.h"
#include "bench/spread.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/encoder/embedding.h"
#include "models/encoder/encoder.h"
#include "models/encoder/head.h"
#include "models/encoder/pooling.h"
#include "models/encoder/sequences.h"
#include "models/interface/attend.h"
#include "models/layers/attention_part.h"

namespace lra::internal {
namespace {

constexpr int kTimedPasses = 5;
constexpr int kWarmUps = 2;

class Pieces {
 public:
  static absl::StatusOr<std::unique_ptr<Pieces>> Create(const BenchRequest& request) {
    LRA_ASSIGN_OR_RETURN(const ExperimentConfig config, StepConfig(request));
    std::unique_ptr<Pieces> pieces(new Pieces(request, config));
    const BlockContext context = {.model = config.model(),
                                  .attention = config.attention(),
                                  .max_length_tokens = request.tokens(),
                                  .parameters = &pieces->store_,
                                  .scope = "layer."};
    LRA_ASSIGN_OR_RETURN(AttentionPart part, AttentionPart::Create(context));
    pieces->part_ = std::make_unique<AttentionPart>(std::move(part));
    pieces->AddMlp();
    return pieces;
  }

  void MeasureAll(BenchResult* result) {
    Embed(result);
    NormAndProjections(result);
    Core(result);
    OutputAndMlp(result);
    HeadAndLoss(result);
  }

 private:
  Pieces(const BenchRequest& request, const ExperimentConfig& config)
      : request_(request),
        config_(config),
        batch_(StepBatch(request)),
        run_(MakeDropoutRun(config, batch_, {.training = true}, ExampleIds(batch_))),
        rows_(static_cast<double>(request.batch() * request.tokens())),
        width_(request.heads() * request.head_width()) {
    real_ = RealPositions(FirstTexts(batch_), PaddingRules(config));
  }

  void AddMlp();
  // An input of the next piece, detached and as a leaf.
  at::Tensor Leaf(const at::Tensor& t) {
    return leaves_.emplace_back(t.detach().set_requires_grad(true));
  }
  at::Tensor Hidden() { return Leaf(at::randn({request_.batch(), request_.tokens(), width_})); }
  // Times `pass`, whose outputs are differentiated, and adds the piece.
  void Add(const char* name, double layers, const PassCost& cost,
           const std::function<std::vector<at::Tensor>()>& pass, BenchResult* result);
  void Embed(BenchResult* result);
  void NormAndProjections(BenchResult* result);
  void Core(BenchResult* result);
  void OutputAndMlp(BenchResult* result);
  void HeadAndLoss(BenchResult* result);

  const BenchRequest request_;
  const ExperimentConfig config_;
  const HostBatch batch_;
  const DropoutRun run_;
  const double rows_;
  const int64_t width_;
  at::Tensor real_;
  ParameterStore store_{1};
  std::vector<at::Tensor> leaves_;  // whose gradients a pass makes anew
  std::unique_ptr<AttentionPart> part_;
  OutputMlpParameters mlp_;
};

void Pieces::Add(const char* name, double layers, const PassCost& cost,
                 const std::function<std::vector<at::Tensor>()>& pass, BenchResult* result) {
  std::vector<double> seconds;
  std::vector<at::Tensor> upstream;
  for (int i = -kWarmUps; i < kTimedPasses; ++i) {
    for (const Parameter& parameter : store_.parameters())
      at::Tensor(parameter.value).mutable_grad() = at::Tensor();
    for (at::Tensor& leaf : leaves_) leaf.mutable_grad() = at::Tensor();
    const double elapsed = SecondsOf([&] {
      std::vector<at::Tensor> outputs;
      {
        const PrecisionScope precision(request_.precision() == NumericsConfig::BF16, at::kCPU);
        outputs = pass();
      }
      // Laid out as the outputs are, as the next piece's backward leaves it.
      for (size_t j = upstream.size(); j < outputs.size(); ++j)
        upstream.push_back(at::empty_like(outputs[j].detach()).normal_());
      torch::autograd::backward(outputs, upstream);
    });
    if (i >= 0) seconds.push_back(elapsed);
  }
  BenchPiece* piece = result->add_pieces();
  piece->set_name(name);
  piece->set_seconds(layers * MedianOf(seconds));
  piece->set_operations(layers * cost.operations);
  piece->set_moved_bytes(layers * cost.moved_bytes);
  leaves_.clear();
}

void Pieces::AddMlp() {
  const ModelConfig& model = config_.model();
  const int64_t m = model.mlp_width();
  const auto weight = [&](const char* name, int64_t out, int64_t in) {
    return store_.Create(name, {out, in}, Initializer::XavierUniform());
  };
  const auto vector = [&](const char* name, int64_t size, Initializer initializer) {
    return store_.Create(name, {size}, initializer);
  };
  mlp_.output = {weight("output.weight", width_, width_),
                 vector("output.bias", width_, Initializer::Zeros())};
  mlp_.norm = {vector("norm.weight", width_, Initializer::Ones()),
               vector("norm.bias", width_, Initializer::Zeros()), 1e-5};
  mlp_.hidden = {weight("hidden.weight", m, width_),
                 vector("hidden.bias", m, Initializer::Zeros())};
  mlp_.projection = {weight("projection.weight", width_, m),
                     vector("projection.bias", width_, Initializer::Zeros())};
}

void Pieces::Embed(BenchResult* result) {
  Embedding embedding(config_, StepTask(), request_.tokens(), &store_);
  // The sum is written, and its gradient read and added to the rows of the tables.
  const PassCost cost = {0, 3 * 4 * rows_ * double(width_)};
  Add(
      "embedding", 1, cost,
      [&]() -> std::vector<at::Tensor> {
        return {embedding.Forward(FirstTexts(batch_), run_.HiddenKey(0))};
      },
      result);
}

void Pieces::NormAndProjections(BenchResult* result) {
  const at::Tensor x = Hidden();
  const auto projections = part_->attention().traits().projections;
  const double maps = projections == Projections::kQueryKeyValue    ? 3
                      : projections == Projections::kSharedQueryKey ? 2
                                                                    : 0;
  const double e = double(width_);
  const PassCost cost = {3 * 2 * maps * rows_ * e * e, 4 * rows_ * e * (3 + 2 * maps)};
  Add(
      "norm, q, k, v", request_.layers(), cost,
      [&]() -> std::vector<at::Tensor> {
        const AttentionInput input = part_->Input({x, real_, run_});
        std::vector<at::Tensor> outputs = {input.q};
        if (!input.k.is_same(input.q)) outputs.push_back(input.k);
        if (!input.v.is_same(input.q)) outputs.push_back(input.v);
        return outputs;
      },
      result);
}

void Pieces::Core(BenchResult* result) {
  AttentionInput input = part_->Input({Hidden(), real_, run_});
  const bool has_key = !input.k.is_same(input.q), has_value = !input.v.is_same(input.q);
  input.q = Leaf(input.q);
  input.k = has_key ? Leaf(input.k) : input.q;
  input.v = has_value ? Leaf(input.v) : input.q;
  if (input.x.defined()) input.x = Leaf(input.x);
  const PassCost cost = OperatorCost(request_, 1 + has_key + has_value);
  Add(
      "attention", request_.layers(), cost,
      [&]() -> std::vector<at::Tensor> {
        return {AttendWithoutAutocast(part_->attention(), input)};
      },
      result);
}

void Pieces::OutputAndMlp(BenchResult* result) {
  const at::Tensor attended =
      Leaf(at::randn({request_.batch(), request_.tokens(), request_.heads(), request_.head_width()})
               .transpose(1, 2));
  const at::Tensor residual = Hidden();
  const double e = double(width_), m = request_.mlp_width();
  const OutputMlpDropout dropout = {run_.HiddenKey(1), run_.HiddenKey(2), run_.HiddenKey(3)};
  const PassCost cost = {3 * 2 * rows_ * (e * e + 2 * e * m), 4 * rows_ * e * 8};
  Add(
      "output, MLP", request_.layers(), cost,
      [&]() -> std::vector<at::Tensor> { return {OutputMlp(attended, residual, mlp_, dropout)}; },
      result);
}

void Pieces::HeadAndLoss(BenchResult* result) {
  const Pooling pooling(config_.model(), &store_);
  const Head head(config_.model(), /*is_pair=*/false, StepTask().classes(), &store_);
  const at::Tensor x = Hidden();
  const at::Tensor labels = at::tensor(batch_.labels, at::kInt).to(at::kLong);
  const PassCost cost = {0, 3 * 4 * rows_ * double(width_)};
  Add(
      "norm, head, loss", 1, cost,
      [&]() -> std::vector<at::Tensor> {
        const at::Tensor pooled = pooling.Forward(x, real_, BatchStatistics::kOfBatch);
        return {at::cross_entropy_loss(head.Forward(pooled, {}), labels)};
      },
      result);
}

// The update reads weight, gradient and both moments and writes all but the gradient.
void AddUpdate(StepModel* model, BenchResult* result) {
  std::vector<double> seconds;
  for (int i = 0; i < kTimedPasses; ++i) seconds.push_back(SecondsOf([&] { model->Update(); }));
  BenchPiece* piece = result->add_pieces();
  piece->set_name("update");
  piece->set_seconds(MedianOf(seconds));
  piece->set_moved_bytes(7 * 4 * double(model->parameters().count()));
}

}  // namespace

absl::Status MeasurePieces(const BenchRequest& request, BenchResult* result) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Pieces> pieces, Pieces::Create(request));
  pieces->MeasureAll(result);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<StepModel> model, StepModel::Create(request));
  model->Train();
  AddUpdate(model.get(), result);
  return absl::OkStatus();
}

}  // namespace lra::internal
