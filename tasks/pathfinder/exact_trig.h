// Sine, cosine and arc tangent that are the same on every machine with IEEE doubles. The original
// program rounds coordinates up, often of values that are whole but for their last bit, so the last
// bit of a sine moves pixels; the C library does not promise it.
#ifndef LRA_TASKS_PATHFINDER_EXACT_TRIG_H_
#define LRA_TASKS_PATHFINDER_EXACT_TRIG_H_

namespace lra::pathfinder {

// |angle_rad| <= 10. Absolute error before the last rounding below 1e-27, so the results are the
// correctly rounded ones save for ties that no double comes that close to. About 10 microseconds:
// for tables.
double ExactSin(double angle_rad);
double ExactCos(double angle_rad);
// In [-pi, pi], of a point with whole coordinates up to 2^20; not both are 0.
double ExactAtan2(int y, int x);

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_EXACT_TRIG_H_
