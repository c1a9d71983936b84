// `lra bench attention`: every attention, forward and backward, H = 8, D = 64: (a) time and memory
// while one sequence grows, with the exponents of growth; (b) time beside a straightforward
// composition of LibTorch's operations for the same function, and beside what the machine reaches.
#ifndef LRA_BENCH_ATTENTION_TABLES_H_
#define LRA_BENCH_ATTENTION_TABLES_H_

#include <string>
#include <vector>

#include "bench/bench.pb.h"
#include "bench/cell.h"

namespace lra {

// The shortest sequence of (a), and the longest of (b).
inline constexpr int64_t kFirstGrowthTokens = 1024, kLongestSpeedTokens = 4096;

struct AttentionPlan {
  std::vector<MethodChoice> methods;
  int64_t max_tokens = 65536;    // of (a), kFirstGrowthTokens at least
  int64_t speed_tokens = 16384;  // of (b), in all examples; kLongestSpeedTokens at least
  double cell_seconds = 60;      // of one cell; 0 = no limit
  int repetitions = 5;
  int threads = 0;
  std::string kernels;
  bool skips_growth = false, skips_speed = false;
  bool is_quiet = false;
};

struct AttentionTables {
  BenchMachine machine;
  std::vector<BenchRecord> growth, speed;
};

AttentionTables MeasureAttentions(const AttentionPlan& plan, const BenchMachine& machine,
                                  const CellRunner& run);

std::string AttentionText(const AttentionTables& tables);
std::string AttentionJson(const AttentionTables& tables);

}  // namespace lra

#endif  // LRA_BENCH_ATTENTION_TABLES_H_
