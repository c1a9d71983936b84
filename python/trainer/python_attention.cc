#include "python/trainer/python_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <nanobind/stl/string.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/check.h"
#include "lra/python_attention.h"
#include "lra/random.h"
#include "lra/status_error.h"
#include "models/interface/attend.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "python/trainer/tensors.h"

namespace lra {
namespace {

namespace nb = nanobind;

// Guarded by the GIL.
nb::object& ActiveMixer() {
  static auto* const mixer = new nb::object;  // never destroyed: Python may be gone at exit
  return *mixer;
}

// Runs body() with the GIL. What Python raises is kept in the mixer, for lra.train to raise it, and
// becomes an error that stops the run; `what` is put in front of its message.
template <class Body>
auto WithPython(const std::string& what, Body body) {
  const nb::gil_scoped_acquire gil;
  try {
    return body();
  } catch (nb::python_error& error) {
    const std::string text =
        nb::cast<std::string>(nb::module_::import_("lra.mixer").attr("describe")(error.value()));
    ActiveMixer().attr("error") = error.value();
    throw StatusError(absl::AbortedError(absl::StrCat(what, ": ", text)));
  }
}

// What an attention in Python sees of its input.
struct Seen {
  at::Tensor q, k, v;  // [B, H, N, D], finite at padding
  at::Tensor keep;     // [B, N] bool; an example without a token has its first place
};

Seen WhatIsSeen(const AttentionInput& input) {
  Seen seen = {input.q, input.k, input.v, input.keep};
  if (!input.keep.defined()) {
    seen.keep = at::ones({input.k.size(0), input.k.size(2)}, input.k.options().dtype(at::kBool));
    return seen;
  }
  const at::Tensor real = input.keep.unsqueeze(1).unsqueeze(3);  // [B, 1, N, 1]
  for (at::Tensor* x : {&seen.q, &seen.k, &seen.v})
    *x = at::where(real.logical_or(at::isfinite(*x)), *x, at::zeros({}, x->options()));
  at::Tensor first = at::zeros_like(input.keep);
  first.select(1, 0).fill_(true);
  seen.keep = input.keep.logical_or(first.logical_and(input.keep.any(1, true).logical_not()));
  return seen;
}

// The key of the random numbers of one call: a resumed run draws what an undisturbed one does.
uint64_t NoiseSeed(const AttentionInput& input) {
  const DropoutKey& key = input.weight_dropout;
  const bool has_ids = input.is_training && key.example_ids.defined();
  const int64_t first = has_ids ? key.example_ids.select(0, 0).item<int64_t>() : 0;
  return HashName(absl::StrCat("python attention ", input.is_training, " ", key.seed, " ", key.step,
                               " ", key.site, " ", first));
}

// Gives `out` back; what it does not depend on has the gradient 0. The optimiser wants one of every
// parameter, the projections of q and k included, and a function may use less.
class DependsOnAll : public torch::autograd::Function<DependsOnAll> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& out,
                            at::TensorList others) {
    std::vector<std::vector<int64_t>> shapes;
    for (const at::Tensor& other : others) shapes.push_back(other.sizes().vec());
    context->saved_data["shapes"] = shapes;
    return out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    torch::autograd::variable_list all = {gradients[0]};
    const auto shapes = context->saved_data["shapes"].to<std::vector<std::vector<int64_t>>>();
    for (const auto& shape : shapes) all.push_back(at::zeros(shape, gradients[0].options()));
    return all;
  }
};

class PythonAttention : public Attention {
 public:
  // `trained`: the layer's parameters.
  PythonAttention(PythonOptions options, nb::object layer, std::vector<at::Tensor> trained)
      : options_(std::move(options)), layer_(std::move(layer)), trained_(std::move(trained)) {
    traits_.label = absl::StrCat(kPythonAttention, "-", options_.name());
    traits_.summary = "An attention of lra.train, written in Python";
    traits_.source = options_.function();
    traits_.causal_reason = "an attention in Python is not told of a causal mask";
    traits_.has_weights = false;
    traits_.time_order = "N^2 D";
    traits_.memory_order = "N^2";
  }
  ~PythonAttention() override {
    const nb::gil_scoped_acquire gil;
    layer_.reset();
  }
  PythonAttention(const PythonAttention&) = delete;
  PythonAttention& operator=(const PythonAttention&) = delete;

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const Seen seen = WhatIsSeen(input);
    const uint64_t seed = NoiseSeed(input);
    const at::Tensor out = WithPython(traits_.label, [&] {
      const nb::object made = layer_(ToPython(seen.q), ToPython(seen.k), ToPython(seen.v),
                                     ToPython(seen.keep), input.is_training, seed);
      return CheckedOutput(made, input);
    });
    const at::Tensor tied = c10::GradMode::is_enabled() ? Tied(out, input) : out;
    if (!input.keep.defined()) return tied;
    return at::where(input.keep.unsqueeze(1).unsqueeze(3), tied, at::zeros({}, tied.options()));
  }

  // There is no other definition.
  at::Tensor Oracle(const AttentionInput& input) const override { return Attend(input); }

 private:
  at::Tensor Tied(const at::Tensor& out, const AttentionInput& input) const {
    std::vector<at::Tensor> others = trained_;
    for (const at::Tensor* x : {&input.q, &input.k, &input.v}) others.push_back(*x);
    return DependsOnAll::apply(out, at::TensorList(others));
  }

  // Whoever calls Attend() checks what it gets, but this output is masked before.
  at::Tensor CheckedOutput(const nb::object& made, const AttentionInput& input) const {
    const std::optional<at::Tensor> out = ToTensor(made);
    if (!out) {
      const std::string type = nb::cast<std::string>(nb::str(made.type().attr("__name__")));
      throw StatusError(absl::InvalidArgumentError(absl::StrCat(
          traits_.label, ": its output is ", type, ", must be a tensor [B, H, N, D]")));
    }
    CheckOutput(*this, input, *out);
    return *out;
  }

  const PythonOptions options_;
  Traits traits_;
  nb::object layer_;
  const std::vector<at::Tensor> trained_;
};

at::Tensor TensorOf(nb::handle object) {
  const std::optional<at::Tensor> tensor = ToTensor(object);
  LRA_CHECK(tensor) << "the mixer hands out tensors";
  return *tensor;
}

// The layer's own parameters, which are returned, and its buffers become the model's.
std::vector<at::Tensor> AdoptAll(const nb::object& layer, const AttentionContext& context) {
  std::vector<at::Tensor> trained;
  for (nb::handle item : layer.attr("parameters")()) {
    const ParameterRole role =
        nb::cast<bool>(item[3]) ? ParameterRole::kNorm : ParameterRole::kWeight;
    trained.push_back(TensorOf(item[1]));
    context.parameters->Adopt(absl::StrCat(context.scope, nb::cast<std::string>(item[0])),
                              trained.back(), nb::cast<bool>(item[2]), role);
  }
  for (nb::handle item : layer.attr("buffers")()) {
    context.parameters->AdoptBuffer(absl::StrCat(context.scope, nb::cast<std::string>(item[0])),
                                    TensorOf(item[1]));
  }
  return trained;
}

absl::StatusOr<std::unique_ptr<Attention>> Make(const PythonOptions& options,
                                                const AttentionContext& context) {
  const std::string what = absl::StrCat(kPythonAttention, "-", options.name());
  const uint64_t seed =
      HashName(absl::StrCat("python attention ", context.parameters->seed(), " ", context.scope));
  return WithPython(what, [&]() -> absl::StatusOr<std::unique_ptr<Attention>> {
    if (!ActiveMixer().is_valid()) return NeedsPython(context.options);
    const std::string place(absl::StripSuffix(context.scope, "."));
    nb::object layer = ActiveMixer().attr("layer")(context.heads, context.head_width,
                                                   context.max_length_tokens, seed, place);
    std::vector<at::Tensor> trained = AdoptAll(layer, context);
    return std::make_unique<PythonAttention>(options, std::move(layer), std::move(trained));
  });
}

}  // namespace

MixerScope::MixerScope(nb::object mixer) {
  if (ActiveMixer().is_valid()) {
    throw StatusError(absl::FailedPreconditionError(
        "another run of this process trains an attention in Python; wait for it"));
  }
  ActiveMixer() = std::move(mixer);
}

MixerScope::~MixerScope() { ActiveMixer().reset(); }

PythonOptions OptionsOfMixer(nb::handle mixer) {
  PythonOptions options;
  options.set_name(nb::cast<std::string>(mixer.attr("name")));
  options.set_function(nb::cast<std::string>(mixer.attr("function")));
  options.set_source_sha256(nb::cast<std::string>(mixer.attr("source_sha256")));
  return options;
}

LRA_REGISTER_ATTENTION(kPythonAttention, PythonOptions, Make);

}  // namespace lra
