#include "lra/option_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/nystromformer.pb.h"
#include "models/attention/performer.pb.h"

namespace lra {
namespace {

std::vector<std::string> Lines(const google::protobuf::Message& message) {
  std::vector<std::string> lines;
  for (const OptionFact& fact : DescribeOptions(message))
    lines.push_back(fact.name + "=" + fact.value + " (" + fact.allowed + ")");
  return lines;
}

TEST(DescribeOptionsTest, NamesValuesAndRangesInOrder) {
  CosformerOptions options;
  options.set_scale(CosformerOptions::FIXED);
  options.set_epsilon(1e-6);
  EXPECT_THAT(Lines(options), testing::ElementsAre("scale=FIXED (FIXED, LENGTH)",
                                                   "scale_tokens= (whole, 0 to 1048576)",
                                                   "epsilon=1e-06 (0 to 1)"));
}

TEST(SettableFieldsTest, GoesIntoMessagesAndNamesChoices) {
  const std::vector<SettableField> fields = SettableFields(ExperimentConfig::descriptor());
  const auto choices = [&fields](absl::string_view path) {
    for (const SettableField& field : fields)
      if (field.path == path) return absl::StrJoin(field.choices, " ");
    return std::string("no such field");
  };
  EXPECT_EQ(choices("schedule.kind"),
            "CONSTANT LINEAR COSINE ONE_CYCLE INVERSE_SQRT COSINE_CYCLE PLATEAU STEP");
  EXPECT_EQ(choices("view.end_mark"), "true false");
  EXPECT_EQ(choices("train.steps"), "");
  EXPECT_EQ(choices("search.learning_rate"), "");
  EXPECT_EQ(choices("attention.options"), "no such field");
  EXPECT_EQ(SettableFields(CosformerOptions::descriptor(), "attention.options").front().path,
            "attention.options.scale");
}

TEST(DescribeOptionsTest, FalseAndZeroAreValues) {
  PerformerOptions options;
  options.set_is_orthogonal(false);
  const std::vector<OptionFact> facts = DescribeOptions(options);
  const auto fact = [&facts](absl::string_view name) {
    return std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.name == name; });
  };
  ASSERT_NE(fact("is_orthogonal"), facts.end());
  EXPECT_EQ(fact("is_orthogonal")->value, "false");
  EXPECT_EQ(fact("is_orthogonal")->allowed, "true, false");
  EXPECT_EQ(fact("features")->value, "");
}

TEST(DescribeOptionsTest, LengthsAreMarkedInTheProto) {
  NystromformerOptions options;
  for (const OptionFact& fact : DescribeOptions(options))
    EXPECT_EQ(fact.is_length, fact.name == "landmarks") << fact.name;
}

}  // namespace
}  // namespace lra
