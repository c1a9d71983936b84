#include "tasks/listops/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "lra/random.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

using testing::HasSubstr;

std::vector<uint16_t> Tokens(absl::string_view text) {
  std::vector<uint16_t> tokens;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    tokens.push_back(TokenId(word));
  }
  return tokens;
}

int32_t Value(absl::string_view text) {
  const absl::StatusOr<int32_t> value = Evaluate(Tokens(text));
  EXPECT_TRUE(value.ok()) << text << ": " << value.status();
  return value.value_or(-1);
}

// These are the check cases of the original generator.
TEST(OracleTest, EvaluatesTheOriginalsCases) {
  EXPECT_EQ(Value("[MAX 2 9 ]"), 9);
  EXPECT_EQ(Value("[MED 1 2 ]"), 1);
  EXPECT_EQ(Value("[MED 4 9 7 ]"), 7);
  EXPECT_EQ(Value("[MED 3 6 8 9 ]"), 7);
  EXPECT_EQ(Value("[SM 9 9 5 ]"), 3);
  EXPECT_EQ(Value("[MIN 4 [SM 7 8 ] 6 ]"), 4);
  EXPECT_EQ(Value("[MED [MAX 0 3 ] 9 [SM 5 5 ] 8 ]"), 5);
  EXPECT_EQ(Value("[MAX 2 [SM 3 4 ] 7 ]"), 7);
  EXPECT_EQ(Value("[MED 2 5 ]"), 3);
  EXPECT_EQ(Value("7"), 7);
}

TEST(OracleTest, OrderOfArgumentsDoesNotMatter) {
  std::vector<int> digits = {0, 3, 3, 8};
  do {
    std::string arguments;
    for (int digit : digits) arguments += std::to_string(digit) + " ";
    EXPECT_EQ(Value("[MIN " + arguments + "]"), 0);
    EXPECT_EQ(Value("[MAX " + arguments + "]"), 8);
    EXPECT_EQ(Value("[MED " + arguments + "]"), 3);
    EXPECT_EQ(Value("[SM " + arguments + "]"), 4);
  } while (std::next_permutation(digits.begin(), digits.end()));
}

TEST(OracleTest, NamesTheTokenThatIsWrong) {
  const auto message = [](absl::string_view text) {
    const absl::StatusOr<int32_t> value = Evaluate(Tokens(text));
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(value.status().message());
  };
  EXPECT_THAT(message(""), HasSubstr("no expression"));
  EXPECT_THAT(message("1 2"), HasSubstr("token 1: follows a complete expression"));
  EXPECT_THAT(message("[MAX 1 2 ] ]"), HasSubstr("token 4: follows"));
  EXPECT_THAT(message("]"), HasSubstr("token 0: closes a bracket that was not opened"));
  EXPECT_THAT(message("[MAX ]"), HasSubstr("token 1: closes an operator without arguments"));
  EXPECT_THAT(message("[MAX 1 2"), HasSubstr("token 3: a bracket is still open"));
  EXPECT_THAT(message("[MAX 1 x ]"), HasSubstr("token 2: id 0 is no ListOps token"));
}

TEST(OracleTest, SurvivesAnyTokens) {
  RandomStream random(2, RandomDomain::kTest, {0, 0, 0});
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint16_t> tokens(random.Below(8));
    for (uint16_t& token : tokens) token = static_cast<uint16_t>(random.Below(18));
    const absl::StatusOr<int32_t> value = Evaluate(tokens);
    valid += value.ok();
    EXPECT_THAT(value.value_or(0), testing::AllOf(testing::Ge(0), testing::Le(9)));
  }
  EXPECT_GT(valid, 0);
}

}  // namespace
}  // namespace lra::listops
