// Simulates runs and counts how often intervals cover, tests reject and margins hold. Bounds are
// the ranges of a larger simulation (docs/statistics.md), widened by the Monte-Carlo error.
#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

#include "eval/all_runs.h"
#include "eval/comparison.h"
#include "eval/crossed.h"
#include "eval/learned.h"
#include "eval/power.h"
#include "eval/simulator_test_util.h"

namespace lra {
namespace {

using ::lra::testing::Method;
using ::lra::testing::Simulator;

struct Bounds {
  double low, high;  // percent
};

// Prints a line and demands that hits of `runs` lie in the bounds, give or take three standard
// errors.
void Report(const char* what, const char* regime, int seeds, int hits, int runs, Bounds bounds) {
  const double percent = 100.0 * hits / runs;
  const auto error = [&](double p) { return 100 * std::sqrt(p / 100 * (1 - p / 100) / runs); };
  std::printf("| %-30s | %-16s | %2d | %5.1f | %5.1f to %5.1f |\n", what, regime, seeds, percent,
              bounds.low, bounds.high);
  EXPECT_GE(percent, bounds.low - 3 * error(bounds.low)) << what << ", " << regime << ", " << seeds;
  EXPECT_LE(percent, bounds.high + 3 * error(bounds.high))
      << what << ", " << regime << ", " << seeds;
}

// Student's t interval over the means of seeds: what looks at no examples.
bool SeedsAloneCover(const std::vector<ExampleValues>& runs, double p) {
  std::vector<double> means;
  for (const ExampleValues& run : runs) means.push_back(Mean(run));
  const double error = SampleStandardDeviation(means) / std::sqrt(static_cast<double>(runs.size()));
  const boost::math::students_t t(static_cast<double>(runs.size() - 1));
  return std::abs(Mean(means) - p) <= quantile(t, 0.975) * error;
}

struct Regime {
  const char* name;
  double seed_sd, rho;
};

constexpr Regime kRegimes[] = {{"seeds agree", 0, 0.999},
                               {"sd 0.7", 0.007, 0.9},
                               {"sd 1.5", 0.015, 0.9},
                               {"sd 1.0, noisy", 0.01, 0.4}};

TEST(CoverageTest, TheCellCoversWhateverDominates) {
  constexpr int kRuns = 1500, kExamples = 2000;
  constexpr double kAccuracy = 0.37;
  const struct {
    int seeds;
    Bounds bounds;
  } cases[] = {{3, {94.9, 97.7}}, {5, {94.8, 96.9}}, {10, {94.4, 96.6}}};
  uint32_t id = 100;
  for (const Regime& regime : kRegimes) {
    for (const auto& [seeds, bounds] : cases) {
      Simulator simulator(++id);
      int covered = 0, seeds_alone = 0;
      for (int run = 0; run < kRuns; ++run) {
        const auto runs = simulator.Runs({kAccuracy, regime.seed_sd, regime.rho},
                                         simulator.Normals(kExamples), simulator.Normals(seeds));
        const Interval cell = ProportionInterval(MomentsOf(SumsOf(runs)), 0.95);
        covered += cell.low <= kAccuracy && kAccuracy <= cell.high ? 1 : 0;
        seeds_alone += SeedsAloneCover(runs, kAccuracy) ? 1 : 0;
      }
      Report("coverage, the cell", regime.name, seeds, covered, kRuns, bounds);
      // More seeds make Student's t over seeds worse, because all of them share the examples.
      if (regime.seed_sd == 0)
        Report("coverage, t over seeds alone", regime.name, seeds, seeds_alone, kRuns, {8, 60});
    }
  }
}

TEST(CoverageTest, TheUnpairedTestKeepsItsLevel) {
  constexpr int kRuns = 1200, kExamples = 2000;
  const struct {
    const char* name;
    double sd_a, sd_b, rho, share;
  } regimes[] = {{"seeds agree", 0, 0, 0.999, 0.95},
                 {"sd 1 and 1", 0.01, 0.01, 0.9, 0.9},
                 {"sd 0.3 and 1.5", 0.003, 0.015, 0.9, 0.9}};
  const struct {
    int seeds;
    Bounds bounds;
  } cases[] = {{3, {1.0, 5.3}}, {5, {1.0, 5.5}}, {10, {0.9, 5.7}}};
  uint32_t id = 200;
  for (const auto& regime : regimes) {
    for (const auto& [seeds, bounds] : cases) {
      Simulator simulator(++id);
      int rejected = 0;
      for (int run = 0; run < kRuns; ++run) {
        const std::vector<double> z = simulator.Normals(kExamples);
        const auto row = [&](double sd) {
          return SumsOf(simulator.Runs({0.6, sd, regime.rho}, simulator.Mixed(z, regime.share),
                                       simulator.Normals(seeds)));
        };
        rejected += TwoSidedP(UnpairedDifference(row(regime.sd_a), row(regime.sd_b)), 0) < 0.05;
      }
      Report("type-I error, unpaired", regime.name, seeds, rejected, kRuns, bounds);
    }
  }
}

// How often a true difference is told from 0.
int CountFound(Simulator* simulator, int runs, int seeds, double difference, double sd,
               double pair_correlation, bool is_paired) {
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    const std::vector<double> z = simulator->Normals(2000), shift = simulator->Normals(seeds);
    const auto row = [&](double p) {
      return simulator->Runs({p, sd, 0.9}, simulator->Mixed(z, 0.9),
                             simulator->Mixed(shift, pair_correlation));
    };
    const auto a = row(0.6 + difference), b = row(0.6);
    const Estimate d =
        is_paired ? PairedDifference(a, b) : UnpairedDifference(SumsOf(a), SumsOf(b));
    found += TwoSidedP(d, 0) < 0.05 ? 1 : 0;
  }
  return found;
}

TEST(CoverageTest, PowerIsWhatThePageSays) {
  constexpr int kRuns = 800;
  // 1,500 repetitions stand behind the page's figures: an error of 1.3 points at most, twice which
  // widens them.
  const auto around = [](double percent) { return Bounds{percent - 2.6, percent + 2.6}; };
  Simulator simulator(301);
  Report("power, unpaired, 1 point", "sd 0.3", 5,
         CountFound(&simulator, kRuns, 5, 0.01, 0.003, 0, false), kRuns, around(28));
  Report("power, unpaired, 2 points", "sd 1", 5,
         CountFound(&simulator, kRuns, 5, 0.02, 0.01, 0, false), kRuns, around(49));
  Report("power, paired, 2 points", "sd 1, pairs 0.6", 5,
         CountFound(&simulator, kRuns, 5, 0.02, 0.01, 0.6, true), kRuns, around(61));
  Report("power, unpaired, 3 points", "sd 1", 3,
         CountFound(&simulator, kRuns, 3, 0.03, 0.01, 0, false), kRuns, around(52));
}

TEST(CoverageTest, EquivalenceIsDeclaredAtItsLevelAtMost) {
  constexpr int kRuns = 1500, kSeeds = 5;
  for (const bool is_at_margin : {true, false}) {
    Simulator simulator(is_at_margin ? 401 : 402);
    int declared = 0;
    for (int run = 0; run < kRuns; ++run) {
      const std::vector<double> z = simulator.Normals(2000);
      const auto row = [&](double p) {
        return SumsOf(
            simulator.Runs({p, 0.003, 0.9}, simulator.Mixed(z, 0.9), simulator.Normals(kSeeds)));
      };
      const Estimate d = UnpairedDifference(row(is_at_margin ? 0.63 : 0.6), row(0.6));
      declared += TestEquivalence(d, 0.03).is_equivalent ? 1 : 0;
    }
    if (is_at_margin) {
      Report("\"equal within 3\", 3 apart", "sd 0.3", kSeeds, declared, kRuns, {4.0, 4.7});
    } else {
      Report("\"equal within 3\", equal", "sd 0.3", kSeeds, declared, kRuns, {99.6, 99.6});
    }
  }
}

TEST(CoverageTest, TheAllRunsMeanCoversWhenRunsCollapse) {
  constexpr int kRuns = 800, kExamples = 4000, kSeeds = 5;
  constexpr double kTrained = 0.72, kChance = 0.5, kCollapse = 0.2;
  Simulator simulator(501);
  int covered = 0, when_trained = 0, three_trained = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<ExampleValues> trained;
    for (ExampleValues& values : simulator.Runs({kTrained, 0.01, 0.8}, simulator.Normals(kExamples),
                                                simulator.Normals(kSeeds))) {
      if (simulator.Uniform() < kCollapse) {
        for (double& value : values) value = simulator.Uniform() < kChance ? 1 : 0;
      }
      const auto right = static_cast<int64_t>(Mean(values) * kExamples + 0.5);
      if (BinomialUpperTail(right, kExamples, kChance) < kAboveLevel)
        trained.push_back(std::move(values));
    }
    if (trained.empty()) continue;
    const CrossedMoments moments = MomentsOf(SumsOf(trained));
    const LearnRate rate{moments.seeds, kSeeds};
    const Interval all = AllRunsMean({EstimateOf(moments), {{rate, kChance}}}, 0.95).interval;
    const double truth = kCollapse * kChance + (1 - kCollapse) * kTrained;
    covered += all.low <= truth && truth <= all.high ? 1 : 0;
    if (moments.seeds < 3) continue;
    ++three_trained;
    const Interval cell = ProportionInterval(moments, 0.95);
    when_trained += cell.low <= kTrained && kTrained <= cell.high ? 1 : 0;
  }
  Report("coverage, all runs", "20 % collapse", kSeeds, covered, kRuns, {98, 100});
  Report("coverage, when trained", "20 % collapse", kSeeds, when_trained, three_trained, {95, 97});
}

}  // namespace
}  // namespace lra
