// Sine, cosine and arc tangent with equal results on every machine with IEEE doubles. The original
// program rounds coordinates up, and many are integers except for their last bit. So the last bit
// of a sine moves pixels, and C libraries differ in it.
#ifndef LRA_TASKS_PATHFINDER_EXACT_TRIG_H_
#define LRA_TASKS_PATHFINDER_EXACT_TRIG_H_

namespace lra::pathfinder {

// For |angle_rad| <= 10. The absolute error before the last rounding is below 1e-27, so results are
// correctly rounded except for ties, to which no double comes that close. A call takes about 10
// microseconds, which is meant for tables.
double ExactSin(double angle_rad);
double ExactCos(double angle_rad);
// The angle, in [-pi, pi], of a point with integer coordinates up to 2^20, not both 0.
double ExactAtan2(int y, int x);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_EXACT_TRIG_H_
