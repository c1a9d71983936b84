// The suite behind CheckAttention(): one attention, every promise. Private to this folder.
#ifndef LRA_MODELS_CONFORMANCE_ATTENTION_SUITE_H_
#define LRA_MODELS_CONFORMANCE_ATTENTION_SUITE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"
#include "models/conformance/try_promise.h"

namespace lra::internal {

// The longest sequence that the instances are made for.
constexpr int64_t kSuiteTokens = 640;

// The attention for every (heads, head width) of the suite's cases: what it owns has their shapes.
struct SuiteInstance {
  ParameterStore parameters{1};
  std::unique_ptr<Attention> attention;
};
using SuiteInstances = std::map<std::pair<int64_t, int64_t>, SuiteInstance>;

// Drawn on the CPU, as every model's parameters are, and moved to the device. With slopes: those of
// AttentionContext::distance_slopes, another for each head.
absl::StatusOr<SuiteInstances> MakeInstances(const AttentionMaker& maker, at::Device device,
                                             bool has_slopes = false);

class AttentionSuite {
 public:
  // `twins` were made like `instances`, apart from them; `references` as well, on the CPU: theirs
  // are the oracles.
  AttentionSuite(absl::string_view name, const CheckSetting& setting, SuiteInstances* instances,
                 SuiteInstances* twins, SuiteInstances* references)
      : name_(name),
        setting_(setting),
        instances_(*instances),
        twins_(*twins),
        references_(*references) {}

  std::vector<ConformanceResult> Run();
  // The instances were made with distance slopes, `without` without.
  std::vector<ConformanceResult> RunWithSlopes(const SuiteInstances& without);

 private:
  void RunFloat64();
  void RunFloat32();
  void Masks(at::ScalarType type, bool causal);

  // Bounds, relative to the largest value (at least 1). float64:
  static constexpr double kForward = 1e-10, kGradient = 1e-9, kNumeric = 1e-6, kUnchanged = 1e-12;
  // float32: reordered sums; against the float64 oracle.
  static constexpr double kUnchanged32 = 2e-5, kFloat = 1e-4;
  // What must be seen: far above rounding errors, and low, because an effect can be weak.
  static constexpr double kVisible = 1e-6;
  // bfloat16: one rounding, 2^-8, and what float32 may err; what roundings of the inputs may do,
  // and roundings of the factors inside, where tiles multiply in bfloat16.
  static constexpr double kRounding = 1.0 / 256, kBfloat16Moves = 8 * kRounding;

  static double Unchanged(at::ScalarType type) {
    return type == at::kFloat ? kUnchanged32 : kUnchanged;
  }
  static const char* TypeName(at::ScalarType type) {
    return type == at::kFloat ? "float32" : "float64";
  }

  const Traits& traits() const { return instances_.begin()->second.attention->traits(); }
  bool has_causal() const { return traits().causality != Causality::kNever; }
  // Whether input.causal makes a second function to check.
  bool has_both() const { return traits().causality == Causality::kOptional; }
  // Once for each form, with whether it is the causal one.
  template <class Body>
  void EachForm(Body body) {
    for (const bool causal : {false, true}) {
      if (!causal || has_both()) body(causal);
    }
  }
  SuiteInstance& InstanceOf(const AttentionCase& c) const {
    return instances_.at({c.input.q.size(1), c.input.q.size(3)});
  }
  SuiteInstance& ReferenceOf(const AttentionCase& c) const {
    return references_.at({c.input.q.size(1), c.input.q.size(3)});
  }
  // The case's input as the attention under test takes it.
  AttentionInput InputOf(const AttentionCase& c) const;
  // Its output, on the CPU.
  at::Tensor Attend(const AttentionCase& c) const;
  AttentionOutcome Fast(const AttentionCase& c, Form form = Form::kFast) const {
    return Fast(InstanceOf(c), c, form);
  }
  AttentionOutcome Fast(const SuiteInstance& instance, const AttentionCase& c,
                        Form form = Form::kFast) const {
    return RunAttention(*instance.attention, form, c, setting_.device, instance.parameters);
  }
  AttentionOutcome Oracle(const AttentionCase& c) const {
    const SuiteInstance& reference = ReferenceOf(c);
    return RunAttention(*reference.attention, Form::kOracle, c, at::kCPU, reference.parameters);
  }
  void Add(const char* id, double measured, double bound, std::string detail) {
    results_.push_back({id, name_, measured <= bound, measured, bound, std::move(detail)});
  }
  // Tries a promise on the case of this detail.
  template <class Body>
  void Try(const char* id, absl::string_view detail, Body body) {
    TryPromise(id, name_, detail, &results_, body);
  }
  // What was observed of a trait that is a yes or no.
  void AddObserved(const char* id, bool is_as_declared, std::string observed) {
    Add(id, is_as_declared ? 0 : 1, 0,
        observed + (is_as_declared ? ", as declared" : ", not as declared"));
  }
  // A difference that must be seen: passes iff change >= visible.
  void AddVisible(const char* id, double change, double visible, const std::string& what) {
    const bool is_seen = change >= visible;
    Add(id, is_seen ? 0 : visible - change, 0,
        (is_seen ? "seen as declared: " : "not seen though declared: ") + what);
  }

  // attention_suite_exact.cc
  void CompareWithOracle(const AttentionCase& c, const std::string& detail);
  void ForwardAndGradients(bool causal);
  void FirstQueryAlone();
  void CrossAndNoise();
  void WeightDropout(AttentionCase c);
  void ParameterGradients(bool causal);
  double NumericDifference(at::Tensor* input, const at::Tensor& gradient, const AttentionCase& c);
  void NumericGradients(bool causal);
  void Float32(bool causal, absl::string_view setting = "");
  void Float32Shapes(bool causal);
  void Float32Longest(bool causal);
  void CompareFloat32(const AttentionCase& c, const std::string& detail);
  void Bfloat16(bool causal);

  // attention_suite_masks.cc
  void PadContent(at::ScalarType type, bool causal);
  void PadAmount(at::ScalarType type, bool causal);
  void BatchIndependence(at::ScalarType type, bool causal);
  void FullyMasked(at::ScalarType type, bool causal);

  // attention_suite_causal.cc
  void Future();
  void CausalFlag();
  void Streaming(at::ScalarType type, bool is_ragged);

  // attention_suite_traits.cc
  void RowStochastic(bool causal);
  void WithinValues(AttentionCase c, const std::string& where);
  void Permutation();
  void Weights(bool causal);
  void ReadsWhatItClaims();
  void LengthBound();
  void Repeats(bool causal);

  const std::string name_;
  const CheckSetting setting_;
  SuiteInstances& instances_;
  SuiteInstances& twins_;
  SuiteInstances& references_;
  std::vector<ConformanceResult> results_;
};

}  // namespace lra::internal

#endif  // LRA_MODELS_CONFORMANCE_ATTENTION_SUITE_H_
