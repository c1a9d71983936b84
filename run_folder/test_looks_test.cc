#include "run_folder/test_looks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"

namespace lra {
namespace {

TEST(TestLooks, TrainingsOwnLookIsLoggedOnceAndOthersEachTime) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  EXPECT_TRUE(TestLooks(run)->empty());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(LogTestLook(run, kTrainLook, 20).ok());
    ASSERT_TRUE(LogTestLook(run, "lra eval run --split test", 20).ok());
  }
  const auto looks = TestLooks(run);
  ASSERT_TRUE(looks.ok()) << looks.status();
  ASSERT_EQ(looks->size(), 3u);
  EXPECT_EQ((*looks)[0].command(), kTrainLook);
  EXPECT_EQ((*looks)[2].step(), 20);
}

// Files of several runs may lie in one folder, whose log they share.
TEST(TestLooks, ALookAtALoneFileSaysAtWhich) {
  const TestFolder folder;
  ASSERT_TRUE(LogTestLook(folder.path(), "lra eval a.safetensors", 20, "abc").ok());
  ASSERT_TRUE(LogTestLook(folder.path(), "lra eval run", 20).ok());
  const auto looks = TestLooks(folder.path());
  ASSERT_TRUE(looks.ok()) << looks.status();
  EXPECT_EQ((*looks)[0].weights_sha256(), "abc");
  EXPECT_EQ((*looks)[1].weights_sha256(), "");
}

TEST(TestLooks, ALookWaitsForAnotherThatIsBeingLogged) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  auto lock = FileLock::Acquire(JoinPath(run, ".test_looks.lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  std::optional<FileLock> held(*std::move(lock));
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    held.reset();
  });
  EXPECT_EQ(LogTestLook(run, "lra eval run --split test", 20), absl::OkStatus());
  ending.join();
  EXPECT_EQ(TestLooks(run)->size(), 1u);
}

// A look that is logged while a run ends stands in its record.
TEST(TestLooks, ARecordWaitsForALookThatIsBeingLoggedAndHoldsIt) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  ASSERT_TRUE(LogTestLook(run, kTrainLook, 20).ok());
  auto lock = FileLock::Acquire(JoinPath(run, ".test_looks.lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  std::optional<FileLock> held(*std::move(lock));
  RunRecord log;
  log.mutable_test_looks()->Add()->set_command(kTrainLook);
  log.mutable_test_looks()->Add()->set_command("lra eval run --split test");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(FileExists(JoinPath(run, kRecordFile)));
    EXPECT_TRUE(WriteSealedTextProto(JoinPath(run, "test_looks.textproto"), log).ok());
    held.reset();
  });
  RunRecord record;
  record.set_method("linear");
  EXPECT_EQ(WriteRecordWithLooks(run, record), absl::OkStatus());
  other.join();
  const auto written = ReadRunRecord(run);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->method(), "linear");
  EXPECT_EQ(written->test_looks_size(), 2);
}

TEST(TestLooks, ADamagedLogIsRefusedAndNotOverwritten) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  ASSERT_TRUE(MakeDirectories(run).ok());
  ASSERT_TRUE(LogTestLook(run, "first", 1).ok());
  const std::string path = JoinPath(run, "test_looks.textproto");
  std::string text = *ReadFile(path);
  text[text.find("first")] = 'F';
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  EXPECT_EQ(TestLooks(run).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LogTestLook(run, "second", 2).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(*ReadFile(path), text);
}

}  // namespace
}  // namespace lra
