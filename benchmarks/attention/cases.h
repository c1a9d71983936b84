// One attention at one size: inputs as a layer makes them, and the cost of a forward and backward
// pass.
#ifndef LRA_BENCHMARKS_ATTENTION_CASES_H_
#define LRA_BENCHMARKS_ATTENTION_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/interface/attention.h"

namespace lra {

constexpr int64_t kHeads = 8, kHeadWidth = 64;

// A row of the tables: a registered attention in one of its forms.
struct Method {
  std::string name;
  Traits traits;
  bool causal = false;

  std::string Label() const { return causal ? name + ", causal" : name; }
};

// Every registered attention, with and without `causal`; attentions that cannot be made with
// default options are named on stderr.
std::vector<Method> RegisteredMethods();

class Case {
 public:
  // Makes q, k, v (and x) as leaves, laid out [B, N, H, D] as projections are.
  static absl::StatusOr<std::unique_ptr<Case>> Make(const Method& method, int64_t batch,
                                                    int64_t tokens);

  using Form = std::function<at::Tensor(const Case&)>;
  // Runs one forward and backward pass and drops the gradients. Exceptions of LibTorch pass
  // through.
  void Run(const Form& form) const;

  const Method& method() const { return method_; }
  const Attention& attention() const { return *attention_; }
  const AttentionInput& input() const { return input_; }
  int64_t batch() const { return input_.q.size(0); }
  int64_t tokens() const { return input_.q.size(2); }
  // A parameter or buffer of the attention, by its name without scope.
  at::Tensor Owned(const std::string& name) const;

 private:
  Case(const Method& method) : method_(method) {}

  const Method method_;
  ParameterStore store_{1};
  std::unique_ptr<Attention> attention_;
  AttentionInput input_;
  at::Tensor upstream_;
};

inline at::Tensor Attend(const Case& c) { return c.attention().Attend(c.input()); }
inline at::Tensor Oracle(const Case& c) { return c.attention().Oracle(c.input()); }

// Bytes of q, k and v.
inline int64_t InputBytes(int64_t batch, int64_t tokens) {
  return 3 * batch * tokens * kHeads * kHeadWidth * static_cast<int64_t>(sizeof(float));
}

struct Cost {
  double seconds = 0;      // median
  int64_t peak_bytes = 0;  // bytes of tensors above the inputs and the upstream gradient
};
// The first pass measures memory; more follow, up to `repetitions` or until about `limit_seconds`.
Cost Measure(const Case& c, const Case::Form& form, int repetitions, double limit_seconds);

// How much memory the system reports as available.
int64_t AvailableBytes();

}  // namespace lra

#endif  // LRA_BENCHMARKS_ATTENTION_CASES_H_
