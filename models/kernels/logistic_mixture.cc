#include "models/kernels/logistic_mixture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

// Value v lies between edges v and v + 1; those at 0 and 256 are open.
constexpr int64_t kEdges = kPixelValues + 1;

// One component of a row. With p = (edge - mean) / scale and e = exp(-|p|):
//   log sigmoid(p) = min(p, 0) - log(1 + e),   log sigmoid(-p) = min(-p, 0) - log(1 + e)
// and value v has the probability exp(exponent[v]) share[v] share[v + 1], share = 1 / (1 + e).
struct Component {
  float log_weight = 0, inverse_scale = 0, between = 0;
  float p[kEdges], share[kEdges];
  float below[kEdges], above[kEdges];  // sigmoid(p), sigmoid(-p)
  float term[kPixelValues];            // exponents first, then their shares of the sum
};

// What a row's probabilities are made of.
struct Mixture {
  explicit Mixture(int64_t components) : parts(components) {}

  std::vector<Component> parts;
  float greatest[kPixelValues], sum[kPixelValues];
};

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
  const float scale = c->inverse_scale, step = kPixelStep;
  for (int64_t i = 1; i < kEdges - 1; ++i) {
    const float p = ((static_cast<float>(i) - 0.5f) * step - 1 - mean) * scale;
    const float e = ExpNonPositive(p < 0 ? p : -p);
    const float share = 1 / (1 + e), rest = e * share;
    c->p[i] = p;
    c->share[i] = share;
    c->below[i] = p < 0 ? rest : share;
    c->above[i] = p < 0 ? share : rest;
  }
  for (const int64_t i : {int64_t{0}, kEdges - 1}) {
    c->p[i] = c->below[i] = c->above[i] = 0;
    c->share[i] = 1;
  }
}

inline LRA_ALWAYS_INLINE void FillExponents(Component* c) {
  for (int64_t v = 0; v < kPixelValues; ++v) {
    const float low = c->p[v], high = c->p[v + 1];
    c->term[v] = c->log_weight + c->between + (high < 0 ? high : 0) - (low > 0 ? low : 0);
  }
  c->term[0] -= c->between;
  c->term[kPixelValues - 1] -= c->between;
}

inline LRA_ALWAYS_INLINE void FillMixture(const float* outputs, Mixture* mixture) {
  const auto count = static_cast<int64_t>(mixture->parts.size());
  SetWeights(outputs, mixture);
  float *greatest = mixture->greatest, *sum = mixture->sum;
  std::fill_n(greatest, kPixelValues, -INFINITY);
  std::fill_n(sum, kPixelValues, 0.0f);
  for (int64_t k = 0; k < count; ++k) {
    Component& c = mixture->parts[k];
    FillEdges(outputs[count + k], outputs[2 * count + k], &c);
    FillExponents(&c);
    for (int64_t v = 0; v < kPixelValues; ++v)
      greatest[v] = greatest[v] < c.term[v] ? c.term[v] : greatest[v];
  }
  for (int64_t k = 0; k < count; ++k) {
    Component& c = mixture->parts[k];
    for (int64_t v = 0; v < kPixelValues; ++v) {
      c.term[v] = ExpNonPositive(c.term[v] - greatest[v]) * c.share[v] * c.share[v + 1];
      sum[v] += c.term[v];
    }
  }
}

inline LRA_ALWAYS_INLINE void LogisticMixtureRowsBody(const float* outputs, int64_t rows,
                                                      int64_t components, float* log_p) {
  Mixture mixture(components);
  for (int64_t r = 0; r < rows; ++r, outputs += 3 * components, log_p += kPixelValues) {
    FillMixture(outputs, &mixture);
    for (int64_t v = 0; v < kPixelValues; ++v)
      log_p[v] = mixture.greatest[v] + std::log(mixture.sum[v]);
  }
}

// The gradients of mean and log scale from `weight` [256], the upstream of each value's logarithm.
inline LRA_ALWAYS_INLINE void AddOfComponent(const Component& c, const float* weight,
                                             float log_scale, float* of_mean, float* of_scale) {
  float slope[kPixelValues], stretch[kPixelValues];
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
  float inner = 0;
  for (int64_t v = 1; v < kPixelValues - 1; ++v) inner += weight[v];
  const double distance = kPixelStep * c.inverse_scale;
  *of_scale = -DotLanes(weight, stretch, kPixelValues) -
              inner * static_cast<float>(distance / std::expm1(distance));
}

inline LRA_ALWAYS_INLINE void LogisticMixtureBackwardRowsBody(const float* outputs,
                                                              const float* upstream, int64_t rows,
                                                              int64_t components, float* gradient) {
  Mixture mixture(components);
  float weight[kPixelValues], ones[kPixelValues];
  std::fill_n(ones, kPixelValues, 1.0f);
  for (int64_t r = 0; r < rows; ++r) {
    FillMixture(outputs, &mixture);
    float total = 0;
    for (int64_t k = 0; k < components; ++k) {
      const Component& c = mixture.parts[k];
      for (int64_t v = 0; v < kPixelValues; ++v)
        weight[v] = upstream[v] * (c.term[v] / mixture.sum[v]);
      gradient[k] = DotLanes(weight, ones, kPixelValues);
      total += gradient[k];
      AddOfComponent(c, weight, outputs[2 * components + k], &gradient[components + k],
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
