// Named parameters. The initial values of a parameter depend only on (seed, its name), so two
// methods with one seed start equal in everything that both have.
#ifndef LRA_MODELS_BASE_PARAMETERS_H_
#define LRA_MODELS_BASE_PARAMETERS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

struct Initializer {
  enum class Kind {
    kZeros,
    kOnes,
    kConstant,
    kNormal,
    kSmooth,
    kUniform,
    kXavierUniform,
    kLecunNormal,
    kBias
  };
  Kind kind = Kind::kZeros;
  double stddev = 1.0;  // for kNormal and kSmooth
  // For kConstant; the bound of kUniform; the fan_in of kBias; the length of kSmooth.
  double value = 0.0;

  static Initializer Zeros() { return {Kind::kZeros}; }
  static Initializer Ones() { return {Kind::kOnes}; }
  static Initializer Constant(double value) { return {Kind::kConstant, 1.0, value}; }
  static Initializer Normal(double stddev) { return {Kind::kNormal, stddev}; }
  // [rows, width]: numbers of a column that are d rows apart have the covariance stddev^2 exp(-(d /
  // length_rows)^2 / 2). Each column is one random feature (Rahimi and Recht 2007, algorithm 1).
  static Initializer Smooth(double stddev, double length_rows) {
    return {Kind::kSmooth, stddev, length_rows};
  }
  // Uniform in +-bound.
  static Initializer Uniform(double bound) { return {Kind::kUniform, 1.0, bound}; }

  // The next three are for linear layers. A store with LinearValues::kPyTorch draws them from
  // Uniform(1 / sqrt(fan_in)) instead.
  // Uniform in +-sqrt(6 / (fan_in + fan_out)); weights are stored [out, in].
  static Initializer XavierUniform() { return {Kind::kXavierUniform}; }
  // Normal truncated at two sigma with variance 1 / fan_in (Flax's default for Dense).
  static Initializer LecunNormal() { return {Kind::kLecunNormal}; }
  // 0, for the bias of a layer with so many inputs.
  static Initializer Bias(int64_t fan_in) {
    return {Kind::kBias, 1.0, static_cast<double>(fan_in)};
  }
};

// How the weights and biases of linear layers are drawn (ModelConfig.initial_values).
enum class LinearValues { kGlorot, kPyTorch };

// What a parameter is to the optimiser (train/parameter_groups.h).
enum class ParameterRole {
  kWeight,
  kNorm,        // weight or bias of a norm
  kStateSpace,  // decay, frequency or input of a state space
  kTimeStep,    // its time step
  kReadOut,     // its read-out C
};

struct Parameter {
  std::string name;  // e.g. "encoder.layer0.attention.query.weight"
  at::Tensor value;  // a float32 leaf that requires a gradient
  // Whether it is the matrix of a linear map, or one for each head; under DecayScope MATRICES only
  // these decay.
  bool is_matrix = false;
  ParameterRole role = ParameterRole::kWeight;
  // Whether it is a statistic: a buffer that forward passes of training change.
  bool is_statistic = false;
};

// Owns the parameters of one model, in order of creation. Not thread-safe.
class ParameterStore {
 public:
  explicit ParameterStore(uint32_t seed, LinearValues linear_values = LinearValues::kGlorot)
      : seed_(seed), linear_values_(linear_values) {}

  // The name must be new. is_matrix is true for Xavier and LeCun parameters [out, in] or [.., out,
  // in], each of whose matrices is drawn as one alone.
  at::Tensor Create(absl::string_view name, const std::vector<int64_t>& shape,
                    Initializer initializer, ParameterRole role = ParameterRole::kWeight);
  // Creates values that are drawn in the same way and saved with the weights, but never trained,
  // such as random projections. The owner may still change them in place, as a function of what was
  // drawn.
  at::Tensor CreateBuffer(absl::string_view name, const std::vector<int64_t>& shape,
                          Initializer initializer);
  // Creates a buffer that forward passes of training change, such as a running mean.
  at::Tensor CreateStatistic(absl::string_view name, const std::vector<int64_t>& shape,
                             Initializer initializer);

  // Takes a value that someone else made and goes on to use: a float32 tensor, under a new name. As
  // a parameter it is trained and must require a gradient, as a buffer it is saved only, and no
  // pass changes it. A tensor is one parameter at most: the optimiser updates it once for each of
  // them.
  void Adopt(absl::string_view name, const at::Tensor& value, bool is_matrix, ParameterRole role);
  void AdoptBuffer(absl::string_view name, const at::Tensor& value);

  // Moves all values in place, so tensors that were handed out remain the model's. Values are
  // always drawn on the CPU, so that every device starts from the same ones.
  void MoveTo(at::Device device);

  uint32_t seed() const { return seed_; }
  // Where all values are.
  at::Device device() const { return device_; }

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Parameter>& buffers() const { return buffers_; }
  // The number of trained scalars.
  int64_t count() const;

 private:
  // What stands for the initialiser under linear_values_.
  Initializer Resolve(Initializer initializer, const std::vector<int64_t>& shape) const;
  void CheckIsNew(absl::string_view name) const;
  at::Tensor Draw(absl::string_view name, const std::vector<int64_t>& shape,
                  Initializer initializer) const;

  uint32_t seed_;
  LinearValues linear_values_;
  at::Device device_ = at::kCPU;
  std::vector<Parameter> parameters_;
  std::vector<Parameter> buffers_;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_PARAMETERS_H_
