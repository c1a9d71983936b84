// The suite behind CheckBlock(): one block, every promise, with some attentions in it. Private to
// this folder.
#ifndef LRA_MODELS_CONFORMANCE_BLOCK_SUITE_H_
#define LRA_MODELS_CONFORMANCE_BLOCK_SUITE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lra/config.h"
#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"
#include "models/conformance/try_promise.h"

namespace lra::internal {

// A block and what it owns, in float64 or float32.
struct BlockInstance {
  ParameterStore parameters{1};
  std::unique_ptr<Block> block;
};

// Input, mask, dropout and upstream gradient of one comparison.
struct BlockCase {
  BlockInput input;
  at::Tensor upstream;  // [B, N, E]

  // Random, without padding; example ids 100, 101, ..., no dropout.
  BlockCase(uint32_t stream, int64_t batch, int64_t tokens, int64_t width,
            at::ScalarType type = at::kDouble);
  // Pads each example from lengths[b] on.
  void PadFrom(const std::vector<int64_t>& lengths);
  // Makes about a third of the tokens padding, never the first.
  void PadRandomly(uint32_t stream);
  void Drop(double probability, double weight_probability, uint32_t step = 9);
  // Nothing reads any row but the first.
  void ReadFirstOnly();
  // Example b alone, its first `tokens`.
  BlockCase Example(int64_t b, int64_t tokens) const;
  at::Tensor Real(const at::Tensor& rows) const;  // padded rows become 0
};

struct BlockOutcome {
  at::Tensor output, dx;
  std::vector<at::Tensor> parameters;  // gradients
};
// Real rows of the outputs and of dx, and the parameters' gradients, relative to the largest of
// their kind.
double OutcomeDifference(const BlockOutcome& a, const BlockOutcome& b, const BlockCase& c);

class BlockSuite {
 public:
  BlockSuite(absl::string_view name, BlockMaker maker, const CheckSetting& setting = {})
      : name_(name), maker_(std::move(maker)), setting_(setting) {}

  // An error where the block cannot be made, but for causal blocks, which may be refused.
  absl::StatusOr<std::vector<ConformanceResult>> Run();
  // With the first attention, or none.
  absl::StatusOr<BlockTraits> Traits() const;

 private:
  // Bounds, as the attention's suite has them.
  static constexpr double kForward = 1e-10, kGradient = 1e-9, kNumeric = 1e-6, kUnchanged = 1e-12;
  static constexpr double kUnchanged32 = 2e-5, kFloat = 1e-4, kVisible = 1e-5;
  static constexpr double kBfloat16 = 4.0 / 256;  // 4 roundings
  static constexpr double kMemoryFactor = 2;

  // How the block under test is made.
  struct Variant {
    std::string attention;
    std::string words;  // "batch norm"
    ModelConfig model;
    bool is_causal = false;
    int64_t index = 0;
    at::ScalarType type = at::kDouble;
  };
  using Instance = std::unique_ptr<BlockInstance>;

  absl::StatusOr<Instance> TryToMake(const Variant& variant) const;
  // On the device of the setting; throws where the block is refused.
  Instance Make(const Variant& variant) const;
  absl::StatusOr<BlockContext> ContextOf(const Variant& variant) const;
  static ModelConfig MainModel();
  Variant Main() const { return {attention_, "", MainModel()}; }

  // The block's input where its parameters are. Cases and outcomes are on the CPU.
  BlockInput Place(const BlockInput& input) const;
  BlockOutcome RunFast(const Variant& variant, const BlockCase& c) const;
  BlockOutcome RunFast(const BlockInstance& instance, const BlockCase& c) const;
  // On the CPU.
  BlockOutcome RunOracle(const Variant& variant, const BlockCase& c) const;
  at::Tensor Forward(const BlockInstance& instance, const BlockCase& c) const;

  void Add(const char* id, double measured, double bound, const std::string& detail) {
    results_.push_back({id, name_, measured <= bound, measured, bound,
                        attention_ == kNoAttention ? detail : attention_ + ": " + detail});
  }
  template <class Body>
  void Try(const char* id, Body body) {
    TryPromise(id, name_, attention_ == kNoAttention ? "alone" : attention_, &results_, body);
  }
  void AddVisible(const char* id, double change, const std::string& what) {
    Add(id, change >= kVisible ? 0 : kVisible, 0, what);
  }

  // block_suite_exact.cc
  void CompareWithOracle(const Variant& variant, const BlockCase& c, const std::string& detail);
  // Adds T1 and T2 of the first row, where nothing else is read.
  void CompareFirstRow(const Variant& variant, BlockCase c, const std::string& what);
  void ForwardAndGradients(const Variant& variant);
  void OtherModels();
  void PositionsInside();
  void PositionsInside(ModelConfig::Positions positions, bool must_take);
  void NumericGradients(const Variant& variant);
  void Float32(const Variant& variant);
  void Float32WithFilters(Variant variant);
  void Bfloat16(const Variant& variant);
  void Owns();
  void ActivationMemory();

  // block_suite_masks.cc
  void PadContent(const Variant& variant);
  void PadAmount(const Variant& variant);
  void BatchIndependence(const Variant& variant);
  void DropoutKeys(bool is_tied);
  void Repeats();

  // block_suite_causal.cc
  void Causality();
  void Future(const Variant& variant);
  void Streaming(const Variant& variant, bool is_ragged);
  void StreamingOfOtherModels(Variant variant);
  void UsesAttention();

  void RunWith(const std::string& attention);
  void RunFloat64(const Variant& main);

  const std::string name_;
  const BlockMaker maker_;
  const CheckSetting setting_;
  std::string attention_;  // inside the block now
  std::vector<ConformanceResult> results_;
};

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_BLOCK_SUITE_H_
