// s4d: a diagonal linear state space of each channel, applied as a long convolution, with the
// block's activation and gated output inside.
// Source: Gu et al. 2022 ("On the Parameterization and Initialization of Diagonal State Space
// Models"), eq. 4, and section 4.3 for how it starts. Parameters and output are laid out as in
// state-spaces/s4: s4d.py; B, groups and softplus are those of its ssm.py. The second direction is
// that of its bidirectional S4: it starts at the next token.
//   y_i = sum_{j <= i} K_0[i - j] u_j + sum_{j > i} K_1[j - i - 1] u_j + skip u_i
//   K_x[l] = 2 Re sum_p C_xp B_p (e^{dt A_p} - 1) / A_p e^{l dt A_p}
//   A = -exp(log_decay) + i frequency,  dt = exp(log_step) or log(1 + exp(raw_step))
//   out = a * sigmoid(g),  [a, g] = W drop(gelu(drop(y))) + b   (drop: input.inner_dropout)
// B is 1 (its start is part of C's) without train_input. With input.causal, and always without
// bidirectional, the second sum is left out. Masked tokens count as u = 0.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/real.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/s4d.pb.h"
#include "models/attention/s4d_start.h"
#include "models/base/shapes_only.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/diagonal_state_space.h"
#include "models/kernels/linear_map.h"
#include "models/kernels/long_convolution.h"
#include "models/kernels/select_kept.h"

namespace lra {
namespace {

constexpr double kInitialDecay = 0.5;
constexpr int64_t kStreamTokens = 32;  // Extend() holds the states of so many tokens at a time

Traits MakeTraits(bool is_bidirectional) {
  Traits traits;
  traits.label = "S4D";
  traits.summary = "diagonal state space of each channel, as a long convolution";
  traits.source = "Gu et al. 2022 (S4D), eq. 4";
  traits.is_row_stochastic = false;
  traits.is_permutation_invariant = false;
  traits.projections = Projections::kNone;
  traits.rotary_reason = "it has no queries and keys";
  traits.causality = is_bidirectional ? Causality::kOptional : Causality::kAlways;
  if (!is_bidirectional)
    traits.causal_reason = "attention.options.bidirectional=true has a direction for later tokens";
  traits.supports_streaming = true;
  traits.supports_inner_dropout = true;
  traits.has_weights = false;  // the output is not linear in the input
  traits.time_order = "N E (P + log N)";
  traits.memory_order = "N E + E P sqrt(N)";
  return traits;
}

// E channels with P conjugate pairs of states each, and S state spaces: channel c has number c mod
// S. X directions: 2, or 1 for the past only. The last axis of complex parameters is (re, im).
struct S4dParameters {
  at::Tensor step;  // [E]: logarithms of time steps, or what softplus makes time steps of
  S4dOptions::StepTransform step_transform = S4dOptions::EXP;
  at::Tensor log_decay, frequency;  // [S, P]
  at::Tensor input;                 // B [S, P, 2]; undefined where it is not trained
  at::Tensor read_out;              // C [X, E, P, 2]
  at::Tensor skip;                  // [E]
  at::Tensor weight, bias;          // [2 E, E], [2 E]
};

class S4d : public Attention {
 public:
  explicit S4d(S4dParameters parameters)
      : traits_(MakeTraits(parameters.read_out.size(0) == 2)), p_(std::move(parameters)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const at::Tensor u = Channels(input.v, input.keep);  // [B, N, E]
    const Discrete d = Discretise();
    const bool sees_future = SeesFuture(input);
    const at::Tensor kernels = ExponentialSums(
        d.rate, sees_future ? d.weight : d.weight.narrow(0, 0, 1), u.size(1), u.scalar_type());
    // The skip is one more tap, at lag 0.
    const at::Tensor skip = p_.skip.to(u.options()).unsqueeze(1);
    const at::Tensor past = kernels[0] + at::constant_pad_nd(skip, {0, u.size(1) - 1});
    return Output(LongConvolution(u, past, sees_future ? kernels[1] : at::Tensor()), input);
  }

  // Runs the recurrence token by token, once in each direction.
  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor u = Channels(input.v, input.keep);  // [B, N, E]
    const Discrete d = Discretise();
    at::Tensor y = Read(d, 0, States(d, u, ZeroState(u, d)));
    if (SeesFuture(input) &&
        u.size(1) > 1) {  // the future of each token: the recurrence from the end
      const at::Tensor after = Read(d, 1, States(d, u.slice(1, 1).flip({1}), ZeroState(u, d)));
      y = y + at::constant_pad_nd(after.flip({1}), {0, 0, 0, 1});
    }
    const InnerDropout& dropout = input.inner_dropout;
    const at::Tensor all =
        Masked(y.to(u.options()) + p_.skip.to(u.options()) * u, dropout.before_activation);
    const at::Tensor active =
        Masked(all * 0.5 * (1 + at::erf(all / std::numbers::sqrt2)), dropout.after_activation);
    const at::Tensor mapped =
        at::matmul(active, p_.weight.to(u.options()).t()) + p_.bias.to(u.options());
    const std::vector<at::Tensor> halves = mapped.chunk(2, -1);
    return Heads(halves[0] / (1 + at::exp(-halves[1])), input);
  }

  // The only tensor is the state, complex128 [B, E, P].
  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    AttentionState state;
    state.tensors = {at::zeros({batch, p_.skip.size(0), p_.log_decay.size(1)},
                               options.dtype(at::kComplexDouble))};
    return state;
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    const c10::NoGradGuard no_gradient;
    const at::Tensor u = Channels(piece.v, piece.keep);
    const Discrete d = Discretise();
    std::vector<at::Tensor> y;
    for (int64_t first = 0; first < u.size(1); first += kStreamTokens) {
      const at::Tensor some = u.slice(1, first, first + kStreamTokens);
      const at::Tensor states = States(d, some, state->tensors[0]);
      state->tensors[0] = states.select(1, -1).clone();
      y.push_back(Read(d, 0, states).to(u.options()));
    }
    state->tokens += u.size(1);
    return Output(at::cat(y, 1) + p_.skip.to(u.options()) * u, piece);
  }

 private:
  // The state space discretised by a zero-order hold, in complex128.
  struct Discrete {
    at::Tensor rate;    // dt A: [E, P]
    at::Tensor weight;  // C B (e^{dt A} - 1) / A: [X, E, P]
  };

  Discrete Discretise() const {
    const at::Tensor a = OfChannels(
        at::complex(-at::exp(p_.log_decay.to(at::kDouble)), p_.frequency.to(at::kDouble)));
    const at::Tensor step = p_.step.to(at::kDouble);
    const at::Tensor dt =
        p_.step_transform == S4dOptions::SOFTPLUS ? at::softplus(step) : at::exp(step);
    const at::Tensor rate = a * dt.unsqueeze(1);
    at::Tensor c = Complex(p_.read_out);
    if (p_.input.defined()) c = c * OfChannels(Complex(p_.input));
    return {rate, c * ((at::exp(rate) - 1) / a)};
  }

  static at::Tensor Complex(const at::Tensor& pairs) {
    return at::view_as_complex(pairs.to(at::kDouble).contiguous());
  }

  // Gives each channel the state space that it has: [S, P] -> [E, P].
  at::Tensor OfChannels(const at::Tensor& spaces) const {
    const int64_t channels = p_.skip.size(0);
    return spaces.size(0) == channels ? spaces : spaces.repeat({channels / spaces.size(0), 1});
  }

  bool SeesFuture(const AttentionInput& input) const {
    return !input.causal && p_.read_out.size(0) == 2;
  }

  // Runs the recurrence over u [B, N, E], beginning with `state` [B, E, P], and returns the states
  // after each token, [B, N, E, P].
  static at::Tensor States(const Discrete& d, const at::Tensor& u, at::Tensor state) {
    const at::Tensor factor = at::exp(d.rate), inputs = u.to(at::kComplexDouble).unsqueeze(3);
    std::vector<at::Tensor> states;
    for (int64_t t = 0; t < u.size(1); ++t) {
      state = state * factor + inputs.select(1, t);
      states.push_back(state);
    }
    return at::stack(states, 1);
  }

  static at::Tensor ZeroState(const at::Tensor& u, const Discrete& d) {
    return at::zeros({u.size(0), d.rate.size(0), d.rate.size(1)}, d.rate.options());
  }

  // Returns what direction x (0: past, 1: future) reads from the states, [B, N, E].
  static at::Tensor Read(const Discrete& d, int64_t x, const at::Tensor& states) {
    return 2 * at::real((states * d.weight[x]).sum(3));
  }

  // Returns the channels of all heads side by side, [B, N, H D], with 0 at masked tokens.
  at::Tensor Channels(const at::Tensor& v, const at::Tensor& keep) const {
    TORCH_CHECK(v.size(1) * v.size(3) == p_.skip.size(0), "s4d: input of ", v.size(1), " x ",
                v.size(3), " channels, but made for ", p_.skip.size(0));
    return SelectKept(v, keep).transpose(1, 2).flatten(2);
  }

  // Applies the activation and the gated map to y [B, N, E] and returns the block's output,
  // [B, H, N, D].
  at::Tensor Output(const at::Tensor& y, const AttentionInput& input) const {
    const InnerDropout& dropout = input.inner_dropout;
    const at::Tensor active =
        Dropout(at::gelu(Dropout(y, dropout.before_activation)), dropout.after_activation);
    return Heads(at::glu(ApplyLinear(active, {p_.weight.to(y.options()), p_.bias.to(y.options())})),
                 input);
  }

  // Dropout of x [B, N, E] by its definition.
  static at::Tensor Masked(const at::Tensor& x, const DropoutKey& key) {
    return key.active() ? x * DropoutMask(key, x.size(1), x.size(2)).to(x.options()) : x;
  }

  // Cuts x [B, N, E] into heads, [B, H, N, D], with 0 at padded tokens.
  static at::Tensor Heads(const at::Tensor& x, const AttentionInput& input) {
    const int64_t heads = input.v.size(1);
    return SelectKept(x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2), input.keep);
  }

  const Traits traits_;
  const S4dParameters p_;
};

absl::Status CheckTogether(const S4dOptions& options, int64_t width) {
  if (options.state_size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.state_size: is ", options.state_size(), ", must be even"));
  }
  if (options.min_step() > options.max_step()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.min_step: is ", options.min_step(),
                     ", must be at most max_step, ", options.max_step()));
  }
  if (options.state_groups() > 0 && width % options.state_groups() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention.options.state_groups: is ", options.state_groups(),
        ", must divide model.width, ", width, ", or be 0, for a state space of each channel"));
  }
  return absl::OkStatus();
}

// Turns the standard normal numbers in `step` into the parameters of time steps that are
// log-uniform between min_step and max_step, in place.
void SpreadSteps(const S4dOptions& options, at::Tensor step) {
  const double low = std::log(options.min_step()), high = std::log(options.max_step());
  const at::Tensor uniform = 0.5 * (1 + at::erf(step / std::numbers::sqrt2));
  const at::Tensor log_step = low + (high - low) * uniform;
  const bool is_softplus = options.step_transform() == S4dOptions::SOFTPLUS;
  step.copy_(is_softplus ? at::log(at::expm1(at::exp(log_step))) : log_step);
}

// Puts the start of A and B into the parameters; B into C where it is not trained.
void StartStateSpaces(const S4dOptions& options, S4dParameters* p) {
  const StateSpaceStart start = StartOf(options.init(), options.state_size() / 2);
  p->frequency.copy_(start.frequency);
  if (p->input.defined()) {
    p->input.copy_(at::view_as_real(start.input));
    return;
  }
  p->read_out.copy_(at::view_as_real(at::view_as_complex(p->read_out) * start.input));
}

absl::StatusOr<std::unique_ptr<Attention>> MakeS4d(const S4dOptions& options,
                                                   const AttentionContext& context) {
  const int64_t width = context.model_width, pairs = options.state_size() / 2;
  LRA_RETURN_IF_ERROR(CheckTogether(options, width));
  const int64_t spaces = options.state_groups() > 0 ? options.state_groups() : width;
  const int64_t directions = options.bidirectional() ? 2 : 1;
  const auto create = [&](const char* name, const std::vector<int64_t>& shape,
                          Initializer initializer, ParameterRole role = ParameterRole::kWeight) {
    return context.parameters->Create(absl::StrCat(context.scope, name), shape, initializer, role);
  };
  constexpr ParameterRole kOwn = ParameterRole::kStateSpace;
  S4dParameters p;
  p.step_transform = options.step_transform();
  p.step = create(p.step_transform == S4dOptions::SOFTPLUS ? "raw_step" : "log_step", {width},
                  Initializer::Normal(1), ParameterRole::kTimeStep);
  p.log_decay =
      create("log_decay", {spaces, pairs}, Initializer::Constant(std::log(kInitialDecay)), kOwn);
  p.frequency = create("frequency", {spaces, pairs}, Initializer::Zeros(), kOwn);
  if (options.train_input())
    p.input = create("input", {spaces, pairs, 2}, Initializer::Zeros(), kOwn);
  p.read_out = create("read_out", {directions, width, pairs, 2},
                      Initializer::Normal(std::numbers::sqrt2 / 2), ParameterRole::kReadOut);
  p.skip = create("skip", {width}, Initializer::Normal(1));
  p.weight = create("output.weight", {2 * width, width}, Initializer::XavierUniform());
  p.bias = create("output.bias", {2 * width}, Initializer::Bias(width));
  if (!IsShapesOnly()) {
    const c10::NoGradGuard no_gradient;
    SpreadSteps(options, p.step);
    StartStateSpaces(options, &p);
  }
  return std::make_unique<S4d>(std::move(p));
}

LRA_REGISTER_ATTENTION("s4d", S4dOptions, MakeS4d);

}  // namespace
}  // namespace lra
