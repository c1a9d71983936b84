// One attention at one size: inputs as a layer makes them.
#ifndef LRA_BENCH_MEASURE_CASES_H_
#define LRA_BENCH_MEASURE_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "bench/cell.h"
#include "models/interface/attend.h"
#include "models/interface/attention.h"

namespace lra {

// The sizes for which compositions are written.
constexpr int64_t kHeads = 8, kHeadWidth = 64;

// Every registered attention with its own options, with and without `causal`.
std::vector<MethodChoice> RegisteredMethods();

class Case {
 public:
  // Makes q, k, v (and x) of a request as leaves, laid out [B, N, H, D] as projections are. Refuses
  // (InvalidArgument) a causal form that the method does not have, and options that are wrong.
  static absl::StatusOr<std::unique_ptr<Case>> Make(const BenchRequest& request);

  using Form = std::function<at::Tensor(const Case&)>;
  // Runs one forward and backward pass and drops the gradients. Exceptions of LibTorch pass
  // through.
  void Run(const Form& form) const;

  const Attention& attention() const { return *attention_; }
  const AttentionInput& input() const { return input_; }
  int64_t tokens() const { return input_.q.size(2); }
  // How many of q, k and v are tensors of their own.
  int distinct_inputs() const;
  // A parameter or buffer of the attention, by its name without scope.
  at::Tensor Owned(const std::string& name) const;

 private:
  Case() = default;

  ParameterStore store_{1};
  std::unique_ptr<Attention> attention_;
  AttentionInput input_;
  at::Tensor upstream_;
};

// The way the encoder calls it.
inline at::Tensor Attend(const Case& c) { return AttendWithoutAutocast(c.attention(), c.input()); }
inline at::Tensor Oracle(const Case& c) { return c.attention().Oracle(c.input()); }

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_CASES_H_
