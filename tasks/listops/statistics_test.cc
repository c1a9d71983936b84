// Compares 20,000 generated examples with the exact distribution of the original generator, by
// one-sample tests with Holm's correction over all of them at family-wise level 0.01. The seed is
// fixed, so the outcome is too.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lra/config.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/listops/vocabulary.h"
#include "tasks/task.h"

namespace lra::listops {
namespace {

constexpr int kExamples = 20000;
constexpr uint32_t kSeed = 20210503;  // not the canonical one
constexpr double kLevel = 0.01;
constexpr int kFirstLength = 501;

struct Sample {
  std::vector<int> lengths, labels, roots;  // roots are 0 .. 3
  int64_t attempts = 0;
};

absl::StatusOr<Sample> Generate() {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile("listops"));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task,
                       TaskRegistry::Get().Create("task", "listops", file.options()));
  Sample sample;
  sample.lengths.resize(kExamples);
  sample.labels.resize(kExamples);
  sample.roots.resize(kExamples);
  std::vector<uint32_t> attempts(kExamples, 0);
  LRA_RETURN_IF_ERROR(ParallelFor(AvailableCores(), kExamples, [&](int64_t i) -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const EncodedExample example,
                         task->Generate(kSeed, 0, static_cast<uint32_t>(i), &attempts[i]));
    sample.lengths[i] = static_cast<int>(example.tokens.size());
    sample.labels[i] = example.label;
    sample.roots[i] = example.tokens[0] - kMin;
    return absl::OkStatus();
  }));
  for (uint32_t last : attempts) sample.attempts += last + 1;
  return sample;
}

double TwoSided(double z) {
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), std::abs(z)));
}

double ChiSquared(const std::vector<int64_t>& counts, const std::vector<double>& probabilities) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return boost::math::cdf(boost::math::complement(
      boost::math::chi_squared(static_cast<double>(counts.size() - 1)), statistic));
}

// The p-value of the largest distance between empirical and exact distribution function. It is
// conservative, because lengths are integers.
double KolmogorovSmirnov(const std::vector<int>& lengths, const std::vector<double>& pmf) {
  std::vector<int64_t> counts(pmf.size(), 0);
  for (int length : lengths) ++counts.at(length - kFirstLength);
  double exact = 0, distance = 0;
  int64_t below = 0;
  for (size_t i = 0; i < pmf.size(); ++i) {
    exact += pmf[i];
    below += counts[i];
    distance = std::max(distance, std::abs(static_cast<double>(below) / lengths.size() - exact));
  }
  const double root = std::sqrt(static_cast<double>(lengths.size()));
  const double x = (root + 0.12 + 0.11 / root) * distance;  // Stephens (1970)
  double p = 0;
  for (int k = 1; k <= 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return std::clamp(p, 0.0, 1.0);
}

std::vector<int64_t> Count(const std::vector<int>& values, size_t bins) {
  std::vector<int64_t> counts(bins, 0);
  for (int value : values) ++counts.at(value);
  return counts;
}

std::vector<std::pair<std::string, double>> PValues(const Sample& sample,
                                                    const nlohmann::json& exact) {
  std::vector<std::pair<std::string, double>> tests;
  const std::vector<double> pmf = exact["length_pmf_from_501"];
  tests.emplace_back("length, KS", KolmogorovSmirnov(sample.lengths, pmf));
  const double mean =
      std::accumulate(sample.lengths.begin(), sample.lengths.end(), 0.0) / kExamples;
  const double deviation = exact["length_std"].get<double>() / std::sqrt(kExamples);
  tests.emplace_back("length, mean",
                     TwoSided((mean - exact["length_mean"].get<double>()) / deviation));
  // The number of attempts until the kExamples-th success has mean n/p and variance n (1 - p) /
  // p^2.
  const double p = exact["accept_probability"];
  tests.emplace_back("acceptance", TwoSided((static_cast<double>(sample.attempts) - kExamples / p) /
                                            (std::sqrt(kExamples * (1 - p)) / p)));
  const std::vector<double> classes = exact["class_probability"];
  tests.emplace_back("class", ChiSquared(Count(sample.labels, 10), classes));
  std::vector<double> roots;
  const std::vector<std::string> names = {"MIN", "MAX", "MED", "SM"};
  for (const std::string& name : names) roots.push_back(exact["root_op_probability"][name]);
  tests.emplace_back("root operator", ChiSquared(Count(sample.roots, 4), roots));
  for (int root = 0; root < 4; ++root) {
    std::vector<int> labels;
    for (int i = 0; i < kExamples; ++i) {
      if (sample.roots[i] == root) labels.push_back(sample.labels[i]);
    }
    const std::vector<double> given = exact["class_probability_given_root_op"][names[root]];
    tests.emplace_back("class given " + names[root], ChiSquared(Count(labels, 10), given));
  }
  return tests;
}

TEST(ListOpsStatisticsTest, AgreesWithTheExactDistribution) {
  std::ifstream file(LRA_TEST_DATA_DIR "/listops_reference.json");
  ASSERT_TRUE(file.good());
  const nlohmann::json exact = nlohmann::json::parse(file);
  const absl::StatusOr<Sample> sample = Generate();
  ASSERT_TRUE(sample.ok()) << sample.status();
  std::vector<std::pair<std::string, double>> tests = PValues(*sample, exact);
  std::sort(tests.begin(), tests.end(), [](auto& a, auto& b) { return a.second < b.second; });
  for (size_t i = 0; i < tests.size(); ++i) {
    // Holm's correction compares the i-th smallest of m p-values with level / (m - i).
    EXPECT_GT(tests[i].second, kLevel / static_cast<double>(tests.size() - i)) << tests[i].first;
    RecordProperty(tests[i].first, std::to_string(tests[i].second));
    std::cout << tests[i].first << ": p = " << tests[i].second << "\n";
  }
}

}  // namespace
}  // namespace lra::listops
