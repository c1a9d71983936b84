#include "models/conformance/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/conformance/try_promise.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::HasSubstr;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

ConformanceResult Result(const char* id, double measured, double bound, const char* detail = "") {
  return {id, "a", measured <= bound, measured, bound, detail};
}

TEST(ReportPromisesTest, GroupsByIdAndKeepsTheWorst) {
  const auto reports =
      ReportPromises({Result("T1", 1e-12, 1e-10, "small"), Result("T9", 1e-6, 1e-5, "float32"),
                      Result("T1", 5e-11, 1e-10, "near"), Result("T9", 1e-12, 1e-12, "float64")});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].id, "T1");
  EXPECT_EQ(reports[0].comparisons, 2);
  EXPECT_EQ(reports[0].worst.detail, "near");
  EXPECT_TRUE(reports[0].passed());
  // It uses the most of its bound, though its difference is smaller.
  EXPECT_EQ(reports[1].worst.detail, "float64");
}

TEST(ReportPromisesTest, AFailureIsWorseThanEveryPass) {
  const auto reports = ReportPromises({Result("T3", 0.9, 1, "near"), Result("T3", 1e-9, 0, "leak"),
                                       Result("T3", kInfinite, 1, "NaN")});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].worst.detail, "NaN");
  EXPECT_EQ(reports[0].failures.size(), 2u);
  EXPECT_FALSE(reports[0].passed());
}

TEST(ReportPromisesTest, WhatThrewIsWorseThanWhatIsFarOff) {
  const absl::Status threw = absl::InternalError("LibTorch: cannot be\nC++ frames: ...");
  const auto reports = ReportPromises(
      {Result("T1", 2, 1, "far"), NotCompared("T1", "a", "N = 1", threw), Result("T1", 3, 1)});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].worst.detail, "N = 1: LibTorch: cannot be");
  EXPECT_FALSE(reports[0].worst.was_compared);
  EXPECT_EQ(reports[0].failures.size(), 3u);
  EXPECT_EQ(reports[0].comparisons, 3);
}

std::string Observed(const std::vector<TraitReport>& reports, const std::string& trait) {
  for (const TraitReport& report : reports) {
    if (report.trait == trait) return report.declared + ": " + report.observed;
  }
  return "";
}

TEST(ReportTraitsTest, DeclaredBesideObserved) {
  Traits traits;
  traits.causality = Causality::kOptional;
  const auto reports =
      ReportTraits(traits, {Result("T4", 0, 1), Result("M1", 2, 1), Result("T5", 0, 0),
                            Result("T1", 2, 1, "N = 7"), Result("T1", 0, 1, "7 queries, 30 keys")});
  EXPECT_EQ(Observed(reports, "padding_invariant"),
            "yes: 1 of 2 comparisons say otherwise (T4, M1)");
  EXPECT_EQ(Observed(reports, "causal"), "optional: as declared in 1 comparison (T5)");
  EXPECT_EQ(Observed(reports, "cross"), "no: as declared in 1 comparison (T1)");
  EXPECT_EQ(Observed(reports, "row_stochastic"), "no: not tried");
}

// Whoever adds a promise to the suite says in report.cc what it means.
TEST(PromiseWordsTest, EveryPromiseOfTheSuiteHasWords) {
  for (const char* name : {"linear", "linformer"}) {
    const auto attention = CheckAttention(name, LoadAttentionOptions(name).value());
    ASSERT_TRUE(attention.ok()) << attention.status();
    for (const ConformanceResult& result : *attention)
      EXPECT_NE(PromiseWords(result.id), "") << result.id << " of " << name;
  }
  const auto classifier = CheckClassifier("linear", LoadAttentionOptions("linear").value());
  ASSERT_TRUE(classifier.ok());
  for (const ConformanceResult& result : *classifier)
    EXPECT_NE(PromiseWords(result.id), "") << result.id;
  EXPECT_EQ(PromiseWords("T99"), "");
}

}  // namespace
}  // namespace lra
