// Fields that are younger than records: fingerprints and comparisons leave them out at the value
// that stands for what was done before.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <memory>

#include "lra/config.h"
#include "lra/fingerprint.h"
#include "lra/options.pb.h"

namespace lra {
namespace {

namespace pb = google::protobuf;
using testing::IsEmpty;
using testing::Pair;

// A message with a young field of each kind, one old field, and one young field in a sub-message
// that has an old field too.
class LegacyValueTest : public testing::Test {
 protected:
  LegacyValueTest() : pool_(pb::DescriptorPool::generated_pool()), factory_(&pool_) {
    pb::FileDescriptorProto file;
    file.set_name("young.proto");
    file.set_package("lra.test");
    file.set_syntax("proto2");
    pb::EnumDescriptorProto* kind = file.add_enum_type();
    kind->set_name("Kind");
    for (const char* name : {"KIND_UNSPECIFIED", "OLD", "NEW"}) {
      pb::EnumValueDescriptorProto* value = kind->add_value();
      value->set_name(name);
      value->set_number(kind->value_size() - 1);
    }
    pb::DescriptorProto* sub = file.add_message_type();
    sub->set_name("Sub");
    AddField(sub, "steps", pb::FieldDescriptorProto::TYPE_INT32, "");
    AddField(sub, "clip", pb::FieldDescriptorProto::TYPE_FLOAT, "0");
    pb::DescriptorProto* message = file.add_message_type();
    message->set_name("Young");
    AddField(message, "old", pb::FieldDescriptorProto::TYPE_INT32, "");
    AddField(message, "count", pb::FieldDescriptorProto::TYPE_INT32, "4");
    AddField(message, "rate", pb::FieldDescriptorProto::TYPE_FLOAT, "0.1");
    AddField(message, "ratio", pb::FieldDescriptorProto::TYPE_DOUBLE, "1e-06");
    AddField(message, "flag", pb::FieldDescriptorProto::TYPE_BOOL, "false");
    AddField(message, "name", pb::FieldDescriptorProto::TYPE_STRING, "first one");
    AddField(message, "kind", pb::FieldDescriptorProto::TYPE_ENUM, "OLD")
        ->set_type_name(".lra.test.Kind");
    AddField(message, "sub", pb::FieldDescriptorProto::TYPE_MESSAGE, "")
        ->set_type_name(".lra.test.Sub");
    type_ = pool_.BuildFile(file)->FindMessageTypeByName("Young");
  }

  static pb::FieldDescriptorProto* AddField(pb::DescriptorProto* message, const char* name,
                                            pb::FieldDescriptorProto::Type type,
                                            const char* legacy) {
    pb::FieldDescriptorProto* field = message->add_field();
    field->set_name(name);
    field->set_number(message->field_size());
    field->set_type(type);
    field->set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
    if (*legacy != '\0') field->mutable_options()->SetExtension(legacy_value, legacy);
    return field;
  }

  std::unique_ptr<pb::Message> Make(const std::vector<std::string>& sets) {
    std::unique_ptr<pb::Message> message(factory_.GetPrototype(type_)->New());
    for (const std::string& set : sets) EXPECT_EQ(SetField(message.get(), set), absl::OkStatus());
    return message;
  }

  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_;
  const pb::Descriptor* type_;
};

TEST_F(LegacyValueTest, TheLegacyValueIsNoDifferenceAndEveryOtherIs) {
  const auto before = Make({"old=7"});
  const auto after = Make(
      {"old=7", "count=4", "rate=0.1", "ratio=1e-6", "flag=false", "name=first one", "kind=OLD"});
  EXPECT_EQ(Fingerprint(*before), Fingerprint(*after));
  EXPECT_EQ(ComparedFields(*before), ComparedFields(*after));
  EXPECT_THAT(ComparedFields(*after), testing::ElementsAre(Pair("old", "7")));
  for (const char* other : {"count=5", "rate=0.2", "ratio=0", "flag=true", "name=first", "kind=NEW",
                            "old=8", "sub.steps=0", "sub.clip=1"}) {
    const auto changed = Make({"old=7", other});
    EXPECT_NE(Fingerprint(*changed), Fingerprint(*before)) << other;
    EXPECT_NE(ComparedFields(*changed), ComparedFields(*before)) << other;
  }
}

// What people are shown has every field.
TEST_F(LegacyValueTest, LeavesAreListedAllTheSame) {
  EXPECT_THAT(LeafFields(*Make({"count=4", "kind=OLD"})),
              testing::ElementsAre(Pair("count", "4"), Pair("kind", "OLD")));
}

TEST_F(LegacyValueTest, UnsetFieldsAreFilledAndSetOnesStay) {
  const auto message = Make({"old=7", "rate=0.5"});
  EXPECT_TRUE(FillLegacyValues(message.get()));
  EXPECT_THAT(LeafFields(*message),
              testing::ElementsAre(Pair("old", "7"), Pair("count", "4"), Pair("rate", "0.5"),
                                   Pair("ratio", "1e-06"), Pair("flag", "false"),
                                   Pair("name", "first one"), Pair("kind", "OLD")));
  EXPECT_FALSE(FillLegacyValues(message.get()));
  // A set sub-message is gone through, an unset one with older fields stays unset.
  const auto with_sub = Make({"sub.steps=1"});
  FillLegacyValues(with_sub.get());
  EXPECT_THAT(LeafFields(*with_sub), testing::Contains(Pair("sub.clip", "0")));
}

TEST_F(LegacyValueTest, AMessageThatIsYoungAsAWholeIsMade) {
  ExperimentConfig config;
  EXPECT_TRUE(FillLegacyValues(&config));
  EXPECT_EQ(config.block().name(), "attention_mlp");
  EXPECT_FALSE(config.has_pretrain());
  EXPECT_FALSE(config.has_search());
  EXPECT_THAT(ComparedFields(config), IsEmpty());
  config.mutable_block()->set_name("mixer");
  EXPECT_THAT(ComparedFields(config), testing::ElementsAre(Pair("block.name", "mixer")));
}

TEST_F(LegacyValueTest, FieldsInsideAnAnyAreFilled) {
  BlockConfig inner;
  RunFile run;  // any message that holds an Any will do
  run.mutable_overrides()->mutable_attention()->mutable_options()->PackFrom(inner);
  EXPECT_TRUE(FillLegacyValues(&run));
  ASSERT_TRUE(run.overrides().attention().options().UnpackTo(&inner));
  EXPECT_EQ(inner.name(), "attention_mlp");
}

}  // namespace
}  // namespace lra
