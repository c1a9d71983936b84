// Named parameters. A parameter's initial values depend on (seed, its name) only: two methods with
// one seed share what they can share, whatever else they own.
#ifndef LRA_MODELS_PARAMETERS_H_
#define LRA_MODELS_PARAMETERS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

struct Initializer {
  enum class Kind { kZeros, kOnes, kConstant, kNormal, kXavierUniform, kLecunNormal };
  Kind kind = Kind::kZeros;
  double stddev = 1.0;  // kNormal only
  double value = 0.0;   // kConstant only

  static Initializer Zeros() { return {Kind::kZeros}; }
  static Initializer Ones() { return {Kind::kOnes}; }
  static Initializer Constant(double value) { return {Kind::kConstant, 1.0, value}; }
  static Initializer Normal(double stddev) { return {Kind::kNormal, stddev}; }
  // Uniform in +-sqrt(6 / (fan_in + fan_out)); weights are stored [out, in].
  static Initializer XavierUniform() { return {Kind::kXavierUniform}; }
  // Normal truncated at two sigma with variance 1 / fan_in (Flax's default for Dense).
  static Initializer LecunNormal() { return {Kind::kLecunNormal}; }
};

enum class ParameterRole {
  kWeight,
  kStateSpace,  // step, decay or frequency of a state space: a learning rate of its own, no decay
};

struct Parameter {
  std::string name;  // "encoder.layer0.attention.query.weight"
  at::Tensor value;  // float32 leaf that requires grad
  // Matrices of linear maps: the only ones that decay under DecayScope MATRICES.
  bool is_matrix = false;
  ParameterRole role = ParameterRole::kWeight;
};

// Owns the parameters of one model, in order of creation. Not thread-safe.
class ParameterStore {
 public:
  explicit ParameterStore(uint32_t seed) : seed_(seed) {}

  // The name must be new. is_matrix is true for two-dimensional Xavier and LeCun parameters.
  at::Tensor Create(absl::string_view name, const std::vector<int64_t>& shape,
                    Initializer initializer, ParameterRole role = ParameterRole::kWeight);
  // Drawn in the same way and saved with the weights, but never trained: random projections. The
  // owner may still change its values in place, as a function of what was drawn.
  at::Tensor CreateBuffer(absl::string_view name, const std::vector<int64_t>& shape,
                          Initializer initializer);

  // Moves all values in place: tensors that were handed out stay the model's. Values are always
  // drawn on the CPU, so that every device starts from the same ones.
  void MoveTo(at::Device device);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Parameter>& buffers() const { return buffers_; }
  // Number of trained scalars.
  int64_t count() const;

 private:
  at::Tensor Draw(absl::string_view name, const std::vector<int64_t>& shape,
                  Initializer initializer) const;

  uint32_t seed_;
  std::vector<Parameter> parameters_;
  std::vector<Parameter> buffers_;
};

}  // namespace lra

#endif  // LRA_MODELS_PARAMETERS_H_
