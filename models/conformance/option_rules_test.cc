// Promise O must be able to fail: factories that have a default, check no range, or name nothing.
#include "models/conformance/option_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/attention/linear.pb.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Made = absl::StatusOr<std::unique_ptr<Attention>>;

// What is wrong with the option of "linear", whose factory is `check` of its options.
std::vector<std::string> Wrongs(const std::function<absl::Status(const LinearOptions&)>& check) {
  const AttentionMaker maker = [&](const AttentionContext& context) -> Made {
    LinearOptions options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    if (const absl::Status status = check(options); !status.ok()) return status;
    return std::unique_ptr<Attention>();
  };
  std::vector<std::string> details;
  for (const ConformanceResult& result :
       internal::CheckOptionRules("linear", maker, LoadAttentionOptions("linear").value())) {
    EXPECT_EQ(result.id, "O");
    if (!result.passed) details.push_back(result.detail);
  }
  return details;
}

absl::Status Demand(const LinearOptions& options) {
  if (options.has_epsilon()) return absl::OkStatus();
  return absl::InvalidArgumentError("epsilon: see configs/attentions/linear.textproto");
}

TEST(OptionRulesTest, AFactoryThatDemandsAndChecksPasses) {
  EXPECT_THAT(Wrongs([](const LinearOptions& options) {
                return CheckOptions("attention", "linear", options);
              }),
              IsEmpty());
}

TEST(OptionRulesTest, ADefaultInTheFactoryIsFound) {
  EXPECT_THAT(Wrongs([](LinearOptions options) {
                if (!options.has_epsilon()) options.set_epsilon(1e-6);
                return CheckOptions("attention", "linear", options);
              }),
              ElementsAre("attention.options.epsilon: the factory has a default of its own"));
}

TEST(OptionRulesTest, ARangeThatIsNotCheckedIsFound) {
  EXPECT_THAT(Wrongs(Demand),
              ElementsAre("attention.options.epsilon: the factory takes -1, the factory takes 2"));
}

TEST(OptionRulesTest, ARefusalWithoutTheNameIsFound) {
  EXPECT_THAT(
      Wrongs([](const LinearOptions&) { return absl::InvalidArgumentError("options are wrong"); }),
      ElementsAre(HasSubstr("does not name it")));
}

}  // namespace
}  // namespace lra
