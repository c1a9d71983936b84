#include "models/kernels/logistic_mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

// Value v lies between edges v and v + 1; those at 0 and 256 are open.
constexpr int64_t kEdges = kPixelValues + 1;

// Where they lie in [-1, 1]. A table, since GCC does not vectorise what turns int64 into float.
constexpr std::array<float, kEdges> kEdgePlaces = [] {
  std::array<float, kEdges> places = {};
  for (int64_t i = 1; i < kEdges - 1; ++i)
    places[i] = (static_cast<float>(i) - 0.5f) * static_cast<float>(kPixelStep) - 1;
  return places;
}();

// One component of a row. With p = (edge - mean) / scale and e = exp(-|p|), share = 1 / (1 + e),
// value v has the probability
//   (1 - e^-d) sigmoid(p[v + 1]) sigmoid(-p[v]) = exp(exponent[v]) share[v] share[v + 1].
struct Component {
  float log_weight = 0, inverse_scale = 0, between = 0;
  float p[kEdges], share[kEdges];
  float below[kEdges], above[kEdges];  // sigmoid(p), sigmoid(-p)
  float term[kPixelValues];            // its share of a value's `sum`
};

// What a row's probabilities are made of: exp(greatest) sum.
struct Mixture {
  explicit Mixture(int64_t components) : parts(components) {}

  std::vector<Component> parts;
  float greatest[kPixelValues], sum[kPixelValues];
};

// Where all values are likelier, probabilities are summed as they are: no term that matters was
// rounded to 0.
constexpr float kLeastSum = 1e-25f;

// log(1 - e^-d) of the distance d between two edges.
inline double LogOfBetween(double distance) { return std::log(-std::expm1(-distance)); }

void SetWeights(const float* logits, Mixture* mixture) {
  const auto count = static_cast<int64_t>(mixture->parts.size());
  const double most = *std::max_element(logits, logits + count);
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += std::exp(logits[k] - most);
  for (int64_t k = 0; k < count; ++k)
    mixture->parts[k].log_weight = static_cast<float>(logits[k] - most - std::log(sum));
}

inline LRA_ALWAYS_INLINE void FillEdges(float mean, float log_scale, Component* c) {
  c->inverse_scale = std::exp(-std::max(log_scale, static_cast<float>(kMinLogScale)));
  c->between = static_cast<float>(LogOfBetween(kPixelStep * c->inverse_scale));
  const float scale = c->inverse_scale;
  LRA_INDEPENDENT
  for (int64_t i = 0; i < kEdges; ++i) {
    const float p = (kEdgePlaces[i] - mean) * scale;
    const float e = ExpNonPositive(-std::fabs(p));
    const float share = 1 / (1 + e), rest = e * share;
    c->p[i] = p;
    c->share[i] = share;
    c->below[i] = p < 0 ? rest : share;
    c->above[i] = p < 0 ? share : rest;
  }
  // What the gradient reads there.
  for (const int64_t i : {int64_t{0}, kEdges - 1}) {
    c->p[i] = c->below[i] = c->above[i] = 0;
    c->share[i] = 1;
  }
}

inline LRA_ALWAYS_INLINE void AddProbabilities(Component* c, float* sum) {
  const float inner = std::exp(c->log_weight + c->between), outer = std::exp(c->log_weight);
  LRA_INDEPENDENT
  for (int64_t v = 0; v < kPixelValues; ++v) c->term[v] = inner * c->below[v + 1] * c->above[v];
  c->term[0] = outer * c->below[1];
  c->term[kPixelValues - 1] = outer * c->above[kPixelValues - 1];
  LRA_INDEPENDENT
  for (int64_t v = 0; v < kPixelValues; ++v) sum[v] += c->term[v];
}

// The same by logarithms, from which the greatest of a value is taken away.
inline LRA_ALWAYS_INLINE void SumExponents(Mixture* mixture) {
  float *greatest = mixture->greatest, *sum = mixture->sum;
  std::fill_n(greatest, kPixelValues, -INFINITY);
  std::fill_n(sum, kPixelValues, 0.0f);
  for (Component& c : mixture->parts) {
    const float inner = c.log_weight + c.between;
    const float *low = c.p, *high = c.p + 1;
    float* const term = c.term;
    LRA_INDEPENDENT
    for (int64_t v = 0; v < kPixelValues; ++v)
      term[v] = inner + 0.5f * (high[v] - std::fabs(high[v])) - 0.5f * (low[v] + std::fabs(low[v]));
    term[0] -= c.between;
    term[kPixelValues - 1] -= c.between;
    LRA_INDEPENDENT
    for (int64_t v = 0; v < kPixelValues; ++v)
      greatest[v] = greatest[v] < term[v] ? term[v] : greatest[v];
  }
  for (Component& c : mixture->parts) {
    LRA_INDEPENDENT
    for (int64_t v = 0; v < kPixelValues; ++v) {
      c.term[v] = ExpNonPositive(c.term[v] - greatest[v]) * c.share[v] * c.share[v + 1];
      sum[v] += c.term[v];
    }
  }
}

inline LRA_ALWAYS_INLINE void FillMixture(const float* outputs, Mixture* mixture) {
  const auto count = static_cast<int64_t>(mixture->parts.size());
  SetWeights(outputs, mixture);
  std::fill_n(mixture->greatest, kPixelValues, 0.0f);
  std::fill_n(mixture->sum, kPixelValues, 0.0f);
  for (int64_t k = 0; k < count; ++k) {
    FillEdges(outputs[count + k], outputs[2 * count + k], &mixture->parts[k]);
    AddProbabilities(&mixture->parts[k], mixture->sum);
  }
  int32_t unlikely = 0;  // NaN, too
  for (int64_t v = 0; v < kPixelValues; ++v) unlikely += mixture->sum[v] > kLeastSum ? 0 : 1;
  if (unlikely > 0) SumExponents(mixture);
}

inline LRA_ALWAYS_INLINE void LogisticMixtureRowsBody(const float* outputs, int64_t rows,
                                                      int64_t components, float* log_p) {
  Mixture mixture(components);
  for (int64_t r = 0; r < rows; ++r, outputs += 3 * components, log_p += kPixelValues) {
    FillMixture(outputs, &mixture);
    LRA_INDEPENDENT
    for (int64_t v = 0; v < kPixelValues; ++v)
      log_p[v] = mixture.greatest[v] + LogNormal(mixture.sum[v]);
  }
}

// The gradients of mean and log scale from `weight` [256], the upstream of each value's logarithm.
inline LRA_ALWAYS_INLINE void AddOfComponent(const Component& c, const float* weight,
                                             const float* ones, float log_scale, float* of_mean,
                                             float* of_scale) {
  float slope[kPixelValues], stretch[kPixelValues];
  LRA_INDEPENDENT
  for (int64_t v = 0; v < kPixelValues; ++v) {
    const float up = c.above[v + 1], down = c.below[v];
    slope[v] = up - down;
    stretch[v] = up * c.p[v + 1] - down * c.p[v];
  }
  *of_mean = -c.inverse_scale * DotLanes(weight, slope, kPixelValues);
  if (log_scale < kMinLogScale) {
    *of_scale = 0;
    return;
  }
  const float inner = DotLanes(weight + 1, ones, kPixelValues - 2);
  const double distance = kPixelStep * c.inverse_scale;
  *of_scale = -DotLanes(weight, stretch, kPixelValues) -
              inner * static_cast<float>(distance / std::expm1(distance));
}

inline LRA_ALWAYS_INLINE void LogisticMixtureBackwardRowsBody(const float* outputs,
                                                              const float* upstream, int64_t rows,
                                                              int64_t components, float* gradient) {
  Mixture mixture(components);
  float weight[kPixelValues], ones[kPixelValues], of_term[kPixelValues];
  std::fill_n(ones, kPixelValues, 1.0f);
  for (int64_t r = 0; r < rows; ++r) {
    FillMixture(outputs, &mixture);
    LRA_INDEPENDENT
    for (int64_t v = 0; v < kPixelValues; ++v) of_term[v] = upstream[v] / mixture.sum[v];
    float total = 0;
    for (int64_t k = 0; k < components; ++k) {
      const Component& c = mixture.parts[k];
      LRA_INDEPENDENT
      for (int64_t v = 0; v < kPixelValues; ++v) weight[v] = of_term[v] * c.term[v];
      gradient[k] = DotLanes(weight, ones, kPixelValues);
      total += gradient[k];
      AddOfComponent(c, weight, ones, outputs[2 * components + k], &gradient[components + k],
                     &gradient[2 * components + k]);
    }
    for (int64_t k = 0; k < components; ++k)
      gradient[k] -= std::exp(mixture.parts[k].log_weight) * total;
    outputs += 3 * components, gradient += 3 * components, upstream += kPixelValues;
  }
}

}  // namespace

LRA_MULTIVERSION(LogisticMixtureRows,
                 (const float* outputs, int64_t rows, int64_t components, float* log_p),
                 (outputs, rows, components, log_p))
LRA_MULTIVERSION(LogisticMixtureBackwardRows,
                 (const float* outputs, const float* upstream, int64_t rows, int64_t components,
                  float* gradient),
                 (outputs, upstream, rows, components, gradient))

}  // namespace lra
