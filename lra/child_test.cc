#include "lra/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

TEST(RunChild, GivesOutputErrorsCodeAndEnvironment) {
  const auto child =
      RunChild({{"sh", "-c", "echo $LRA_CHILD; echo wrong >&2; exit 3"}, {{"LRA_CHILD", "seven"}}});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->output, "seven\n");
  EXPECT_EQ(LastLine(child->errors), "wrong");
  EXPECT_EQ(child->exit_code, 3);
  EXPECT_EQ(child->signal, 0);
}

TEST(RunChild, NamesAProgramThatIsNotThere) {
  const auto child = RunChild({{"/no/such/program"}, {}});
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("/no/such/program"));
}

// Takes descriptors from this process while it lives.
class WithoutDescriptors {
 public:
  explicit WithoutDescriptors(const std::vector<int>& numbers) : numbers_(numbers) {
    for (const int number : numbers_) {
      kept_.push_back(fcntl(number, F_DUPFD_CLOEXEC, 100));
      close(number);
    }
  }
  ~WithoutDescriptors() {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (kept_[i] < 0) continue;
      dup2(kept_[i], numbers_[i]);
      close(kept_[i]);
    }
  }

 private:
  const std::vector<int> numbers_;
  std::vector<int> kept_;
};

// Then an end of a pipe may have the number that it is to get in the program.
TEST(RunChild, ReadsTheProgramOfAProcessWithoutStandardDescriptors) {
  for (const std::vector<int>& missing :
       std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    absl::StatusOr<ChildOutcome> child;
    {
      const WithoutDescriptors without(missing);
      child = RunChild({{"sh", "-c", "echo right; echo wrong >&2"}, {}});
    }
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ(child->output, "right\n") << testing::PrintToString(missing);
    EXPECT_EQ(child->errors, "wrong\n") << testing::PrintToString(missing);
  }
}

int CountPipes() {
  const auto child = RunChild({{"ls", "-l", "/proc/self/fd"}, {}});
  EXPECT_TRUE(child.ok()) << child.status();
  int pipes = 0;
  for (size_t at = 0; (at = child->output.find("pipe:", at)) != std::string::npos; ++at) ++pipes;
  return pipes;
}

TEST(RunChild, AProgramHasNoPipesOfAnother) {
  const TestFolder folder;
  const std::string started = folder.File("started"), over = folder.File("over");
  const int alone = CountPipes();
  std::thread other([&] {
    const std::string wait = "touch $0; while [ ! -e $1 ]; do sleep 0.01; done";
    EXPECT_TRUE(RunChild({{"sh", "-c", wait, started, over}, {}}).ok());
  });
  while (!FileExists(started)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(CountPipes(), alone);
  EXPECT_TRUE(WriteFileAtomically(over, "").ok());
  other.join();
}

}  // namespace
}  // namespace lra
