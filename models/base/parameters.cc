#include "models/base/parameters.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lra/check.h"
#include "lra/random.h"
#include "models/base/shapes_only.h"

namespace lra {
namespace {

// The standard deviation of a standard normal distribution truncated at +-2.
constexpr double kTruncatedStddev = 0.87962566103423978;

double TruncatedNormal(RandomStream* stream) {
  double value = stream->Normal();
  while (std::abs(value) > 2.0) value = stream->Normal();
  return value;
}

// A cosine down each column, of random frequency and phase.
void FillSmooth(Initializer init, int64_t rows, int64_t width, RandomStream stream, float* values) {
  for (int64_t c = 0; c < width; ++c) {
    const double frequency = stream.Normal() / init.value;
    const double phase = 2.0 * std::numbers::pi * stream.Uniform();
    for (int64_t r = 0; r < rows; ++r) {
      const double wave = std::cos(frequency * static_cast<double>(r) + phase);
      values[r * width + c] = static_cast<float>(init.stddev * std::numbers::sqrt2 * wave);
    }
  }
}

// Weights are [out, in], or [.., out, in] for several, which gives the two fans of each.
void Fill(Initializer init, const std::vector<int64_t>& shape, RandomStream stream, float* values,
          int64_t count) {
  const auto fill = [&](auto draw) {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(draw());
  };
  using Kind = Initializer::Kind;
  const double fan_in = static_cast<double>(shape.empty() ? 1 : shape.back());
  const double fan_out = static_cast<double>(shape.size() < 2 ? fan_in : shape.end()[-2]);
  const double limit = std::sqrt(6.0 / (fan_in + fan_out));
  const double lecun = 1.0 / (std::sqrt(fan_in) * kTruncatedStddev);
  switch (init.kind) {
    case Kind::kZeros:
    case Kind::kBias:
      return fill([] { return 0.0; });
    case Kind::kOnes:
      return fill([] { return 1.0; });
    case Kind::kConstant:
      return fill([&] { return init.value; });
    case Kind::kNormal:
      return fill([&] { return init.stddev * stream.Normal(); });
    case Kind::kSmooth:
      return FillSmooth(init, count / shape.back(), shape.back(), stream, values);
    case Kind::kUniform:
      return fill([&] { return init.value * (2.0 * stream.Uniform() - 1.0); });
    case Kind::kXavierUniform:
      return fill([&] { return limit * (2.0 * stream.Uniform() - 1.0); });
    case Kind::kLecunNormal:
      return fill([&] { return lecun * TruncatedNormal(&stream); });
  }
}

}  // namespace

Initializer ParameterStore::Resolve(Initializer initializer,
                                    const std::vector<int64_t>& shape) const {
  using Kind = Initializer::Kind;
  if (linear_values_ == LinearValues::kGlorot) return initializer;
  const bool is_weight =
      initializer.kind == Kind::kXavierUniform || initializer.kind == Kind::kLecunNormal;
  if (!is_weight && initializer.kind != Kind::kBias) return initializer;
  const double fan_in = is_weight ? static_cast<double>(shape.back()) : initializer.value;
  return Initializer::Uniform(1.0 / std::sqrt(fan_in));
}

void ParameterStore::CheckIsNew(absl::string_view name) const {
  for (const std::vector<Parameter>* known : {&parameters_, &buffers_}) {
    for (const Parameter& parameter : *known) {
      LRA_CHECK(parameter.name != name) << "parameter \"" << name << "\" exists already";
    }
  }
}

at::Tensor ParameterStore::Draw(absl::string_view name, const std::vector<int64_t>& shape,
                                Initializer initializer) const {
  CheckIsNew(name);
  if (IsShapesOnly()) return at::empty(shape, at::TensorOptions(at::kFloat).device(at::kMeta));
  const uint64_t hash = HashName(name);
  RandomStream stream(seed_, RandomDomain::kInitialWeights,
                      {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), 0});
  at::Tensor value = at::empty(shape, at::kFloat);
  Fill(Resolve(initializer, shape), shape, stream, value.mutable_data_ptr<float>(), value.numel());
  return value;
}

at::Tensor ParameterStore::Create(absl::string_view name, const std::vector<int64_t>& shape,
                                  Initializer initializer, ParameterRole role) {
  at::Tensor value = Draw(name, shape, initializer);
  value.set_requires_grad(true);
  const bool is_linear_map = initializer.kind == Initializer::Kind::kXavierUniform ||
                             initializer.kind == Initializer::Kind::kLecunNormal;
  parameters_.push_back({std::string(name), value, is_linear_map && shape.size() >= 2, role});
  return value;
}

at::Tensor ParameterStore::CreateBuffer(absl::string_view name, const std::vector<int64_t>& shape,
                                        Initializer initializer) {
  at::Tensor value = Draw(name, shape, initializer);
  buffers_.push_back({std::string(name), value});
  return value;
}

at::Tensor ParameterStore::CreateStatistic(absl::string_view name,
                                           const std::vector<int64_t>& shape,
                                           Initializer initializer) {
  const at::Tensor value = CreateBuffer(name, shape, initializer);
  buffers_.back().is_statistic = true;
  return value;
}

void ParameterStore::Adopt(absl::string_view name, const at::Tensor& value, bool is_matrix,
                           ParameterRole role) {
  CheckIsNew(name);
  LRA_CHECK(value.scalar_type() == at::kFloat && value.is_leaf() && value.requires_grad()) << name;
  for (const Parameter& known : parameters_) {
    LRA_CHECK(!known.value.is_same(value)) << name << " is the tensor of " << known.name;
  }
  parameters_.push_back({std::string(name), value, is_matrix, role});
}

void ParameterStore::AdoptBuffer(absl::string_view name, const at::Tensor& value) {
  CheckIsNew(name);
  LRA_CHECK(value.scalar_type() == at::kFloat && !value.requires_grad()) << name;
  buffers_.push_back({std::string(name), value});
}

void ParameterStore::MoveTo(at::Device device) {
  for (const std::vector<Parameter>* own : {&parameters_, &buffers_}) {
    for (const Parameter& parameter : *own) {
      parameter.value.set_data(parameter.value.detach().to(device));
    }
  }
  device_ = device;
}

int64_t ParameterStore::count() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) total += parameter.value.numel();
  return total;
}

}  // namespace lra
