// Tests curve.jsonl and the event file: round trip, half-written lines, TFRecord framing.
#include "run_folder/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "google/protobuf/util/message_differencer.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "run_folder/tensorboard.h"
#include "run_folder/tensorboard.pb.h"

namespace lra {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

CurvePoint Point(int64_t step, bool with_validation) {
  CurvePoint point;
  point.set_step(step);
  point.set_learning_rate(0.001);
  point.set_train_loss(2.25 - 0.01 * static_cast<double>(step));
  (*point.mutable_train())["accuracy"] = 0.17;
  point.set_gradient_norm(1.5);
  point.set_max_gradient_norm(3.25);
  point.set_tokens(12345);
  point.add_label_examples(3);
  point.add_label_examples(29);
  point.add_predicted_examples(0);
  point.add_predicted_examples(32);
  point.set_update_ratio(0.002);
  point.set_embedding_update_ratio(0.0004);
  if (!with_validation) return point;
  point.set_validation_loss(2.125);
  (*point.mutable_validation())["accuracy"] = 0.34;
  (*point.mutable_learned())["layer0.head1.scale_tokens"] = 71.5;
  return point;
}

CheckpointState State(int points) {
  CheckpointState state;
  for (int i = 1; i <= points; ++i) *state.add_curve() = Point(10 * i, i % 2 == 0);
  return state;
}

uint64_t ReadLittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

TEST(Crc32c, IsThatOfRfc3720) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);  // from RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(TensorBoard, FramesLikeTensorFlow) {
  const std::string record = TfRecord("abc");
  ASSERT_EQ(record.size(), 8 + 4 + 3 + 4u);
  EXPECT_EQ(ReadLittleEndian(absl::string_view(record).substr(0, 8)), 3u);
  EXPECT_EQ(record.substr(12, 3), "abc");
  const auto unmask = [](uint64_t masked) {
    const uint32_t rotated = static_cast<uint32_t>(masked) - 0xa282ead8u;
    return (rotated >> 17) | (rotated << 15);
  };
  EXPECT_EQ(unmask(ReadLittleEndian(absl::string_view(record).substr(8, 4))),
            Crc32c(record.substr(0, 8)));
  EXPECT_EQ(unmask(ReadLittleEndian(absl::string_view(record).substr(15, 4))), Crc32c("abc"));
}

TEST(TensorBoard, APointIsSevenScalars) {
  const std::string record = TensorBoardRecord(Point(20, true));
  TensorBoardEvent event;
  ASSERT_TRUE(event.ParseFromString(record.substr(12, record.size() - 16)));
  EXPECT_EQ(event.step(), 20);
  EXPECT_EQ(event.wall_time(), 20);
  ASSERT_EQ(event.summary().value_size(), 7);
  EXPECT_EQ(event.summary().value(0).tag(), "train/loss");
  EXPECT_FLOAT_EQ(event.summary().value(0).simple_value(), 2.05f);
  EXPECT_EQ(event.summary().value(5).tag(), "validation/accuracy");
  EXPECT_FLOAT_EQ(event.summary().value(5).simple_value(), 0.34f);
  EXPECT_EQ(event.summary().value(6).tag(), "learned/layer0.head1.scale_tokens");
}

TEST(Curve, ReadsWhatItWrote) {
  const TestFolder folder;
  const CheckpointState state = State(3);
  ASSERT_TRUE(RewriteCurve(folder.path(), state).ok());
  const auto points = ReadCurve(folder.path());
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(MessageDifferencer::Equals((*points)[i], state.curve(i))) << i;
  }
}

// A killed run wrote points that its checkpoint does not know; after resuming they are written
// again.
TEST(Curve, RewritingLeavesNoSeam) {
  const TestFolder undisturbed, killed;
  ASSERT_TRUE(RewriteCurve(undisturbed.path(), State(0)).ok());
  ASSERT_TRUE(RewriteCurve(killed.path(), State(0)).ok());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(AppendCurve(undisturbed.path(), State(4).curve(i)).ok());
    ASSERT_TRUE(AppendCurve(killed.path(), State(4).curve(i)).ok());
  }
  ASSERT_TRUE(RewriteCurve(killed.path(), State(2)).ok());
  for (int i = 2; i < 4; ++i) ASSERT_TRUE(AppendCurve(killed.path(), State(4).curve(i)).ok());
  for (const char* file : {"curve.jsonl", kTensorBoardFile}) {
    EXPECT_EQ(*ReadFile(JoinPath(undisturbed.path(), file)),
              *ReadFile(JoinPath(killed.path(), file)))
        << file;
  }
}

TEST(Curve, AHalfWrittenLastLineIsLeftOutAndADamagedLineIsNamed) {
  const TestFolder folder;
  ASSERT_TRUE(RewriteCurve(folder.path(), State(2)).ok());
  const std::string path = JoinPath(folder.path(), "curve.jsonl");
  std::ofstream(path, std::ios::app) << "{\"step\":30,\"lea";
  EXPECT_EQ(ReadCurve(folder.path())->size(), 2u);
  std::ofstream(path, std::ios::app) << "\n";
  const absl::Status damaged = ReadCurve(folder.path()).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("curve.jsonl:3"));
  const TestFolder empty;
  EXPECT_EQ(ReadCurve(empty.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST(Curve, WholeNumbersAreWhole) {
  for (const char* fields : {"\"step\":1e30", "\"step\":1.5", "\"step\":18446744073709551615",
                             "\"step\":1,\"tokens\":1e30", "\"step\":1,\"label_examples\":[2,1e30]",
                             "\"step\":1,\"predicted_examples\":7"}) {
    const TestFolder folder;
    std::ofstream(JoinPath(folder.path(), "curve.jsonl"))
        << "{\"learning_rate\":0.1,\"train_loss\":2,\"gradient_norm\":1," << fields << "}\n";
    const absl::Status status = ReadCurve(folder.path()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << fields;
    EXPECT_THAT(std::string(status.message()), HasSubstr("curve.jsonl:1")) << fields;
  }
}

// A line of an older run lacks the newer fields.
TEST(Curve, OlderLinesAreRead) {
  const TestFolder folder;
  std::ofstream(JoinPath(folder.path(), "curve.jsonl"))
      << R"({"step":5,"learning_rate":0.1,"train_loss":2.0,"train_accuracy":0.5,"gradient_norm":1.0})"
      << "\n";
  const auto points = ReadCurve(folder.path());
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_EQ(points->at(0).step(), 5);
  EXPECT_EQ(points->at(0).tokens(), 0);
  EXPECT_EQ(points->at(0).train().at("accuracy"), 0.5);
  EXPECT_TRUE(points->at(0).validation().empty());
}

}  // namespace
}  // namespace lra
