#include "bench/step_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

BenchResult Measured(double seconds) {
  BenchResult result;
  result.set_outcome(BenchResult::MEASURED);
  result.mutable_passes()->add_seconds(seconds);
  return result;
}

void Ignore(const Contender&, int, const BenchResult&) {}

TEST(Interleave, MeasuresAllBeforeAnyAgain) {
  std::vector<std::string> order;
  const auto contender = [&](const std::string& label) {
    return Contender{label, "", [&order, label] {
                       order.push_back(label);
                       return Measured(1);
                     }};
  };
  Interleave({contender("a"), contender("b")}, 3, Ignore);
  EXPECT_THAT(order, ElementsAre("a", "b", "a", "b", "a", "b"));
}

TEST(Interleave, AsksNobodyAgainWhoDidNotMeasure) {
  int asked = 0;
  const Contender contender = {"a", "", [&] {
                                 ++asked;
                                 BenchResult result;
                                 result.set_outcome(BenchResult::OUT_OF_MEMORY);
                                 return result;
                               }};
  const std::vector<Contest> contests = Interleave({contender}, 5, Ignore);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(contests[0].results.size(), 1u);
  EXPECT_EQ(SecondsOfContest(contests[0]).coverage, 0);
}

TEST(RatioOfContests, IsOfTheSameRepetition) {
  // The machine slowed down by 4 in between; the ratio is 1/2 throughout.
  const Contest a = {"a", "b", {Measured(1), Measured(4), Measured(2)}};
  const Contest b = {"b", "", {Measured(2), Measured(8), Measured(4)}};
  const MedianInterval ratio = *RatioOfContests(a, b);
  EXPECT_EQ(ratio.median, 0.5);
  EXPECT_EQ(ratio.low, 0.5);
  EXPECT_EQ(ratio.high, 0.5);
}

TEST(StepContenders, SetPyTorchAndTheOtherBuildBesideEachMethod) {
  StepPlan plan;
  plan.methods = {{"linear", {}, false}, {"rfa", {}, false}};
  plan.kernels = {"avx2"};
  plan.base.set_mode(BenchRequest::TRAINING);
  plan.python = "python3";
  plan.compiles = true;
  plan.other = "old/lra";
  std::vector<std::string> labels, references;
  for (const Contender& contender : StepContenders(plan, "lra")) {
    labels.push_back(contender.label);
    references.push_back(contender.reference);
  }
  EXPECT_THAT(labels, ElementsAre("linear, avx2, eager PyTorch", "linear, avx2, torch.compile",
                                  "linear, avx2, other build", "linear, avx2",
                                  "rfa, avx2, other build", "rfa, avx2"));
  EXPECT_THAT(references,
              ElementsAre("", "linear, avx2, eager PyTorch", "linear, avx2, eager PyTorch",
                          "linear, avx2, eager PyTorch", "", "rfa, avx2, other build"));
}

TEST(StepContenders, SetFlashLinearAttentionBesideCausalLinearOnly) {
  StepPlan plan;
  plan.methods = {{"linear", {}, false}, {"linear", {}, true}};
  plan.kernels = {""};
  plan.base.set_mode(BenchRequest::TRAINING);
  plan.base.set_device("cuda");
  plan.python = "python3";
  const auto labels = [&] {
    std::vector<std::string> all;
    for (const Contender& contender : StepContenders(plan, "lra")) all.push_back(contender.label);
    return all;
  };
  EXPECT_THAT(labels(), Not(Contains(HasSubstr("flash"))));
  plan.has_fla = true;
  EXPECT_THAT(labels(),
              ElementsAre("linear, eager PyTorch", "linear", "linear, causal, eager PyTorch",
                          "linear, causal, flash-linear-attention", "linear, causal"));
}

TEST(CheckMeasured, AComparisonOfNothingIsAnError) {
  const auto judge = [](const std::vector<BenchResult::Outcome>& outcomes) {
    StepComparison comparison;
    for (const BenchResult::Outcome outcome : outcomes) {
      BenchResult result;
      result.set_outcome(outcome);
      result.set_reason("no CUDA");
      comparison.contests.push_back({"a", "", {result}});
    }
    return CheckMeasured(comparison);
  };
  EXPECT_EQ(judge({BenchResult::REFUSED, BenchResult::REFUSED}),
            absl::InvalidArgumentError("no step was measured: no CUDA"));
  EXPECT_EQ(judge({BenchResult::REFUSED, BenchResult::FAILED}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(judge({BenchResult::FAILED, BenchResult::MEASURED}), absl::OkStatus());
  EXPECT_EQ(judge({BenchResult::OUT_OF_MEMORY}), absl::OkStatus()) << "an answer, too";
}

TEST(CompareSteps, RefusesABuildThatCannotBeStarted) {
  StepPlan plan;
  plan.other = "/no/such/lra";
  const absl::Status refused = CompareSteps(plan, "/no/such/lra").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--beside /no/such/lra: cannot start"));
}

TEST(StepTable, SaysCpuTimeWhereItIsKnown) {
  StepComparison comparison;
  comparison.contests = {{"eager", "", {Measured(0.4)}},
                         {"linear", "eager", {Measured(0.1), Measured(0.1), Measured(0.1)}}};
  std::vector<BenchResult>& ours = comparison.contests[1].results;
  ours[0].set_cpu_seconds(0.75);
  ours[1].set_cpu_seconds(0.1875);
  ours[2].set_cpu_seconds(0.25);
  const std::string text = StepTable(comparison);
  EXPECT_THAT(text, ContainsRegex("[|] step +[|] ms .interval. +[|] CPU ms +[|]"));
  EXPECT_THAT(text, ContainsRegex("[|] eager +[|] 400.0 [^|]*[|] +[|]"));
  EXPECT_THAT(text, ContainsRegex("[|] linear +[|] 100.0 [^|]*[|] +250.0 [|]"));
}

TEST(StepTable, SaysMedianIntervalRatioAndPieces) {
  StepComparison comparison;
  comparison.base.set_tokens(1000);
  comparison.base.set_batch(2);
  comparison.machine.set_gemm_operations_per_second(100e9);
  comparison.machine.set_copy_bytes_per_second(10e9);
  comparison.contests = {{"eager", "", {Measured(0.4), Measured(0.5)}},
                         {"linear", "eager", {Measured(0.1), Measured(0.25)}}};
  BenchResult profiled = Measured(0.2);
  BenchPiece* piece = profiled.add_pieces();
  piece->set_name("output, MLP");
  piece->set_seconds(0.1);
  piece->set_operations(5e9);
  comparison.profiles = {{"linear", "", {profiled}}};
  const std::string text = StepTable(comparison);
  EXPECT_THAT(text, HasSubstr("175.0 (100.0 – 250.0)"));
  EXPECT_THAT(text, HasSubstr("0.38 (0.25 – 0.50)"));
  EXPECT_THAT(text, HasSubstr("50 GFLOP/s, 50 %"));
  EXPECT_THAT(text, HasSubstr("holds the median with 50.0 %"));
  const auto json = nlohmann::json::parse(StepJson(comparison));
  EXPECT_EQ(json["rows"][1]["ratio"]["median"], 0.375);
  EXPECT_EQ(json["rows"][1]["reference"], "eager");
}

// Names such as LibTorch's kernels have, which differ far behind.
constexpr char kLongName[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
    "float, at::native::binary_internal::";
constexpr char kLongEnd[] =
    "Functor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float>, char*)";

// A step of 4 ms in which 14 kernels run for 3 ms, the first for 1.7 of them.
StepComparison ComparisonOnADevice() {
  StepComparison comparison;
  comparison.base.set_device("cuda");
  BenchResult profiled = Measured(0.003);
  BenchDeviceProfile* profile = profiled.mutable_device_profile();
  profile->set_step_seconds(0.004);
  profile->set_busy_seconds(0.003);
  for (int i = 0; i < 14; ++i) {
    BenchKernel* kernel = profile->add_kernels();
    kernel->set_name(i < 2 ? absl::StrCat(kLongName, i == 0 ? "Mul" : "Sub", kLongEnd)
                           : absl::StrCat("kernel ", i));
    kernel->set_calls(i == 0 ? 6 : 1);
    kernel->set_seconds(i == 0 ? 0.0017 : 0.0001);
  }
  comparison.contests = {{"linear", "", {Measured(0.003)}}};
  comparison.profiles = {{"linear", "", {profiled}}};
  return comparison;
}

TEST(StepTable, SaysWhichKernelsADeviceSpendsAStepIn) {
  StepComparison comparison = ComparisonOnADevice();
  const std::string text = StepTable(comparison);
  EXPECT_THAT(text, HasSubstr("linear: kernels and copies of a step"));
  EXPECT_THAT(text, HasSubstr("takes 4.00 ms, in 75 % of which any of them runs"));
  const std::string begin = "[|] vectorized_elementwise_kernel<[.]{3}[a-z_:]*";
  EXPECT_THAT(text, ContainsRegex(begin + "MulFunctor<float> >, std::array<char[*], 3ul> > +[|] +6 "
                                          "[|] +1.70 [|] +57 [|]"));
  EXPECT_THAT(text, ContainsRegex(begin + "SubFunctor<float> >"));
  EXPECT_THAT(text, ContainsRegex("[|] kernel 11 +[|] +1 [|] +0.100 [|] +3 [|]"));
  EXPECT_THAT(text, Not(HasSubstr("kernel 12")));
  EXPECT_THAT(text, ContainsRegex("[|] 2 others +[|] +2 [|] +0.200 [|] +7 [|]"));
  EXPECT_THAT(StepJson(comparison), HasSubstr(absl::StrCat(kLongName, "Mul", kLongEnd)));
  comparison.profiles[0].results[0].mutable_device_profile()->set_are_host_operators(true);
  EXPECT_THAT(StepTable(comparison), HasSubstr("linear: operators on the host of a step"));
  BenchResult& profiled = comparison.profiles[0].results[0];
  profiled.set_outcome(BenchResult::FAILED);
  profiled.set_reason("the profiler saw no kernel");
  EXPECT_THAT(StepTable(comparison),
              HasSubstr("\nlinear: no profile: the profiler saw no kernel\n"));
}

}  // namespace
}  // namespace lra
