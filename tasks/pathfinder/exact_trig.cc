#include "tasks/pathfinder/exact_trig.h"

#include <cmath>

#include "lra/check.h"

namespace lra::pathfinder {
namespace {

// An unevaluated sum of two doubles with |low| <= ulp(high) / 2, which has about 106 bits (Dekker
// 1971).
struct Pair {
  double high, low;
};

Pair SumOf(double a, double b) {
  const double sum = a + b, rest = sum - a;
  return {sum, (a - (sum - rest)) + (b - rest)};
}

Pair ProductOf(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

Pair operator+(Pair a, Pair b) {
  const Pair high = SumOf(a.high, b.high), low = SumOf(a.low, b.low);
  const Pair sum = SumOf(high.high, high.low + low.high);
  return SumOf(sum.high, sum.low + low.low);
}

Pair operator*(Pair a, Pair b) {
  const Pair product = ProductOf(a.high, b.high);
  return SumOf(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Pair operator/(Pair a, double divisor) {
  const double first = a.high / divisor;
  const Pair taken = ProductOf(first, divisor);
  return SumOf(first, ((a.high - taken.high) - taken.low + a.low) / divisor);
}

// The Taylor series x^first / first! - x^(first + 2) / (first + 2)! + ...
Pair Alternating(double x, int first) {
  const Pair square = ProductOf(x, x);
  Pair term = first == 0 ? Pair{1, 0} : Pair{x, 0};
  Pair sum = term;
  for (int k = first + 1; std::abs(term.high) > 1e-36; k += 2) {
    term = (term * square) / (-static_cast<double>(k) * (k + 1));
    sum = sum + term;
  }
  return sum;
}

Pair Sine(double x) { return Alternating(x, 1); }
Pair Cosine(double x) { return Alternating(x, 0); }

}  // namespace

double ExactSin(double angle_rad) {
  LRA_CHECK(std::abs(angle_rad) <= 10) << angle_rad;
  return Sine(angle_rad).high;
}

double ExactCos(double angle_rad) {
  LRA_CHECK(std::abs(angle_rad) <= 10) << angle_rad;
  return Cosine(angle_rad).high;
}

// One Newton step from the library's value u, whose error e is below 1e-15: with the radius r of
// the point, y cos u - x sin u = r sin(e) = r e up to an error of r e^3.
double ExactAtan2(int y, int x) {
  LRA_CHECK(x != 0 || y != 0);
  const double near = std::atan2(static_cast<double>(y), static_cast<double>(x));
  const Pair sine = Sine(near) * Pair{-static_cast<double>(x), 0};
  const Pair across = Cosine(near) * Pair{static_cast<double>(y), 0} + sine;
  const double radius = std::sqrt(static_cast<double>(x) * x + static_cast<double>(y) * y);
  return SumOf(near, across.high / radius).high;
}

}  // namespace lra::pathfinder
