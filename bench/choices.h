// What the flags of `lra bench` mean.
#ifndef LRA_BENCH_CHOICES_H_
#define LRA_BENCH_CHOICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"

namespace lra {

// "reformer:rounds=4,buckets=8" to a name and options. InvalidArgument for an attention without
// configuration and for unknown options.
struct MethodChoice {
  std::string attention;
  std::vector<std::string> options;
  bool causal = false;
  std::string block;  // one that uses no attention, in place of one
};
absl::StatusOr<std::vector<MethodChoice>> ParseMethods(const std::vector<std::string>& texts);
// The same for blocks: "dilated_convolution:convolutions=3".
absl::StatusOr<std::vector<MethodChoice>> ParseBlocks(const std::vector<std::string>& texts);
void SetMethod(const MethodChoice& method, BenchRequest* request);

// "512,1024" or "512..65536", which doubles. InvalidArgument for anything else.
absl::StatusOr<std::vector<int64_t>> ParseLengths(const std::string& text);

// Words at commas: "a,b" "c" are a, b and c.
std::vector<std::string> SplitAtCommas(const std::vector<std::string>& texts);

// "small" (2 layers of width 64 with 2 heads, MLP 128, B = 16), "released" (4 of 256 with 4, MLP
// 1,024, B = 8: the text task's configuration in google-research/long-range-arena) or "official" (6
// of 512 with 8, MLP 2,048, B = 4: the LRA paper): a STEP request with these sizes, float32.
// InvalidArgument for another.
absl::StatusOr<BenchRequest> SizedRequest(const std::string& size);

// "float32", "bfloat16" or "tf32", and back.
absl::StatusOr<NumericsConfig::Precision> ParsePrecision(const std::string& name);
const char* PrecisionName(NumericsConfig::Precision precision);

// Those of `registered` that `wanted` names, with and without `causal`; all where nothing is named.
std::vector<MethodChoice> MethodsOf(const std::vector<MethodChoice>& registered,
                                    const std::vector<MethodChoice>& wanted);

}  // namespace lra

#endif  // LRA_BENCH_CHOICES_H_
