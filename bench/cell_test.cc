#include "bench/cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/choices.h"
#include "bench/yardstick.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(JsonLine, ComesBackAsItWas) {
  BenchRequest request;
  request.set_scope(BenchRequest::STEP);
  request.set_attention("linear");
  request.set_tokens(int64_t{1} << 40);
  const std::string line = ToJsonLine(request);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  BenchRequest back;
  ASSERT_TRUE(FromJsonLine(line, "here", &back).ok());
  EXPECT_EQ(back.SerializeAsString(), request.SerializeAsString());
  EXPECT_THAT(std::string(FromJsonLine("{\"scopes\": 1}", "file:3", &back).message()),
              HasSubstr("file:3"));
}

TEST(ParseMethods, TakesOptionsAndOldNames) {
  const auto methods =
      ParseMethods({"softmax,reformer:rounds=4,training_rounds=4", "linear:causal"});
  ASSERT_TRUE(methods.ok()) << methods.status();
  ASSERT_EQ(methods->size(), 3u);
  EXPECT_EQ((*methods)[0].attention, "transformer");
  EXPECT_THAT((*methods)[1].options, ElementsAre("rounds=4", "training_rounds=4"));
  EXPECT_TRUE((*methods)[2].causal);
  BenchRequest request;
  SetMethod((*methods)[1], &request);
  EXPECT_EQ(MethodLabel(request), "reformer (rounds=4, training_rounds=4)");
}

TEST(ParseBlocks, TakesBlocksInPlaceOfAttentions) {
  const auto methods = ParseBlocks({"dilated_convolution:causal,circular=false,convolutions=3"});
  ASSERT_TRUE(methods.ok()) << methods.status();
  ASSERT_EQ(methods->size(), 1u);
  EXPECT_EQ((*methods)[0].attention, "none");
  BenchRequest request;
  SetMethod((*methods)[0], &request);
  EXPECT_EQ(request.block(), "dilated_convolution");
  EXPECT_EQ(MethodLabel(request), "dilated_convolution (circular=false, convolutions=3), causal");
  EXPECT_THAT(std::string(ParseBlocks({"dilated_convolutions"}).status().message()),
              HasSubstr("did you mean \"dilated_convolution\""));
  EXPECT_THAT(std::string(ParseBlocks({"dilated_convolution:kernels=3"}).status().message()),
              HasSubstr("kernel_tokens"));
}

TEST(ParseMethods, NamesWhatIsWrong) {
  EXPECT_THAT(std::string(ParseMethods({"lineer"}).status().message()), HasSubstr("linear"));
  EXPECT_THAT(std::string(ParseMethods({"reformer:round=4"}).status().message()),
              HasSubstr("rounds"));
}

TEST(ParseLengths, TakesListsAndDoublingRanges) {
  EXPECT_THAT(*ParseLengths("1000,512..2048"), ElementsAre(512, 1000, 1024, 2048));
  EXPECT_FALSE(ParseLengths("0").ok());
  EXPECT_FALSE(ParseLengths("2048..512").ok());
  EXPECT_THAT(std::string(ParseLengths("many").status().message()), HasSubstr("\"many\""));
}

TEST(SizedRequest, KnowsThreeSizes) {
  EXPECT_EQ(SizedRequest("official")->layers(), 6);
  EXPECT_EQ(SizedRequest("released")->mlp_width(), 1024);
  EXPECT_THAT(std::string(SizedRequest("tiny").status().message()),
              HasSubstr("small, released, official"));
}

TEST(MethodsOf, KeepsBothFormsOfWhatIsWanted) {
  const std::vector<MethodChoice> registered = {
      {"a", {}, false}, {"a", {}, true}, {"b", {}, false}};
  EXPECT_EQ(MethodsOf(registered, {}).size(), 3u);
  EXPECT_EQ(MethodsOf(registered, {{"a", {}, false}}).size(), 2u);
  EXPECT_EQ(MethodsOf(registered, {{"a", {}, true}}).size(), 1u);
}

TEST(ChildRunner, TurnsAFailureIntoAnOutcome) {
  const BenchResult result = ChildRunner("/no/such/program")(BenchRequest());
  EXPECT_EQ(result.outcome(), BenchResult::FAILED);
  EXPECT_THAT(result.reason(), HasSubstr("/no/such/program"));
}

TEST(YardstickLine, GivesTimeAndMemory) {
  BenchResult result;
  ASSERT_TRUE(ParseYardstickLine("softmax N=64 B=2 L=2 E=64: 12.5 ms a step, 10.2 ktokens/s, "
                                 "peak 0.31 GB",
                                 &result)
                  .ok());
  EXPECT_DOUBLE_EQ(result.passes().seconds(0), 0.0125);
  EXPECT_EQ(result.resident_bytes(), 310000000);
  EXPECT_FALSE(ParseYardstickLine("Traceback", &result).ok());
}

TEST(YardstickCommand, HoldsPyTorchToTheForcedInstructions) {
  BenchRequest request;
  request.set_attention("transformer");
  request.set_kernels("avx2");
  request.set_threads(2);
  const ChildCommand command = YardstickCommand({"python3", true}, request);
  EXPECT_EQ(command.words[2], "softmax");
  EXPECT_THAT(command.environment, Contains(Pair("ATEN_CPU_CAPABILITY", "avx2")));
  EXPECT_THAT(command.environment, Contains(Pair("COMPILE", "1")));
  EXPECT_THAT(command.environment, Contains(Pair("T", "2")));
  request.set_kernels("avx512");
  EXPECT_THAT(YardstickCommand({"python3", true}, request).environment,
              Contains(Pair("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")));
}

TEST(YardstickCommand, AsksForCausalFormsAndTheirKernels) {
  BenchRequest request;
  request.set_attention("linear");
  request.set_mode(BenchRequest::TRAINING);
  EXPECT_THAT(YardstickCommand({"python3"}, request).environment,
              AllOf(Contains(Pair("CAUSAL", "0")), Contains(Pair("FLA", "0"))));
  request.set_causal(true);
  EXPECT_TRUE(YardstickKnows(request));
  EXPECT_THAT(YardstickCommand({"python3", false, true}, request).environment,
              AllOf(Contains(Pair("CAUSAL", "1")), Contains(Pair("FLA", "1"))));
  request.set_attention("s4d");
  EXPECT_FALSE(YardstickKnows(request));  // the script's is bidirectional
}

TEST(FlaKnows, CausalLinearAttentionOnAGpu) {
  BenchRequest request;
  request.set_attention("linear");
  request.set_mode(BenchRequest::TRAINING);
  request.set_causal(true);
  request.set_device("cuda");
  EXPECT_TRUE(FlaKnows(request));
  for (const char* device : {"", "fake"}) {
    BenchRequest elsewhere = request;
    elsewhere.set_device(device);
    EXPECT_FALSE(FlaKnows(elsewhere)) << device;
  }
  BenchRequest other = request;
  other.set_attention("cosformer");
  EXPECT_FALSE(FlaKnows(other));
  request.set_causal(false);
  EXPECT_FALSE(FlaKnows(request));
}

TEST(HasFla, IsFalseOfAPythonWithout) { EXPECT_FALSE(HasFla("/no/such/python")); }

TEST(CheckPython, SaysWhatToNameInstead) {
  const absl::Status status = CheckPython("/no/such/python");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a Python that has torch"));
}

}  // namespace
}  // namespace lra
