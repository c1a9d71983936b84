#include "eval/schema1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "eval/metric.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// What a program wrote while accuracy was the only metric.
constexpr char kOld[] = R"(
  schema_version: 1 kind: MEASURED method: "linear"
  curve { step: 5 train_loss: 2.5 }
  curve { step: 10 train_loss: 2.25 train_accuracy: 0.17 validation_loss: 2.125 validation_accuracy: 0.34 }
  results { split: "test" examples: 2000 correct: 690 loss_sum: 2500.5 checkpoint: "selected" step: 10 }
  results { split: "validation" examples: 4 correct: 3 loss_sum: nan }
  selected_step: 10 selected_validation_accuracy: 0.34
  trials { learning_rate: 0.001 validation_accuracy: 0.34 selected_step: 10 is_selected: true }
)";

constexpr char kNew[] = R"(
  schema_version: 2 kind: MEASURED method: "linear"
  curve { step: 5 train_loss: 2.5 train { key: "accuracy" value: 0 } }
  curve {
    step: 10 train_loss: 2.25 validation_loss: 2.125
    train { key: "accuracy" value: 0.17 } validation { key: "accuracy" value: 0.34 }
  }
  results {
    split: "test" examples: 2000 checkpoint: "selected" step: 10
    sums {
      counts { key: "targets" value: 2000 } counts { key: "correct" value: 690 }
      totals { key: "nats" value: 2500.5 }
    }
  }
  results {
    split: "validation" examples: 4
    sums {
      counts { key: "targets" value: 4 } counts { key: "correct" value: 3 }
      totals { key: "nats" value: nan }
    }
  }
  selected_step: 10 selected_validation: 0.34
  trials { learning_rate: 0.001 validation: 0.34 selected_step: 10 is_selected: true }
)";

RunRecord Parse(const char* text) {
  RunRecord record;
  EXPECT_TRUE(ParseTextProto(text, "test", &record).ok());
  return record;
}

TEST(Schema1Test, AnOldRecordOpensInTheFormOfToday) {
  const TestFolder folder;
  ASSERT_TRUE(WriteSealedTextProto(JoinPath(folder.path(), kRecordFile), Parse(kOld)).ok());
  const auto record = ReadRunRecord(folder.path());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(ToTextProto(*record), ToTextProto(Parse(kNew)));
  const SplitResult& test = *FindResult(*record, "test");
  EXPECT_EQ((*FindMetric(kAccuracy))->Value(test.sums()), 0.345);
  EXPECT_EQ((*FindMetric(kNats))->Value(test.sums()), 2500.5 / 2000);
}

TEST(Schema1Test, WrittenAgainItIsARecordOfToday) {
  const TestFolder folder;
  RunRecord record = Parse(kOld);
  ConvertSchema1(&record);
  ASSERT_TRUE(WriteRunRecord(folder.path(), record).ok());
  const auto read = ReadRunRecord(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToTextProto(*read), ToTextProto(Parse(kNew)));
  EXPECT_TRUE(EqualExceptVolatile(*read, Parse(kNew)));
}

TEST(Schema1Test, ALaterSchemaIsRefused) {
  const TestFolder folder;
  RunRecord record = Parse(kNew);
  record.set_schema_version(3);
  ASSERT_TRUE(WriteSealedTextProto(JoinPath(folder.path(), kRecordFile), record).ok());
  const absl::Status status = ReadRunRecord(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("versions 1 to 2"));
}

TEST(Schema1Test, APointOfTodayStaysAsItIs) {
  CurvePoint point = Parse(kNew).curve(1);
  ConvertSchema1(&point);
  EXPECT_EQ(ToTextProto(point), ToTextProto(Parse(kNew).curve(1)));
}

}  // namespace
}  // namespace lra
