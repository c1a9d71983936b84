#include "suite/job_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "lra/child.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

JobArray Array(const TestFolder& folder, const std::string& command) {
  JobArray array;
  array.name = "mine-1";
  array.folder = folder.path();
  array.items = {"a", "it's b", "c"};
  array.words = {"sh", "-c", command, "sh", kItem, absl::StrCat("x/", kItem)};
  array.limit_seconds = 5400;
  return array;
}

TEST(SlurmScript, AsksForWhatTheArrayNeeds) {
  const TestFolder folder;
  JobArray array = Array(folder, "true");
  array.memory_bytes = (int64_t{3} << 30) + 1;
  array.cores = 2;
  array.environment = {{"LRA_DATA", "/a b"}};
  EXPECT_THAT(SlurmScript(array, {.partition = "cpu", .account = "me", .at_most = 2}),
              AllOf(HasSubstr("#SBATCH --job-name=mine-1\n"), HasSubstr("#SBATCH --array=0-2%2\n"),
                    HasSubstr("#SBATCH --time=1:30:00\n"), HasSubstr("#SBATCH --mem=3073M\n"),
                    HasSubstr("#SBATCH --cpus-per-task=2\n"),
                    HasSubstr("#SBATCH --partition=cpu\n"), HasSubstr("#SBATCH --account=me\n"),
                    HasSubstr("#SBATCH --requeue\n"), HasSubstr("#SBATCH --signal=B:USR1@540\n"),
                    HasSubstr(absl::StrCat("#SBATCH --output=\"", folder.path(), "/%A_%a.log\"\n")),
                    HasSubstr("export LRA_DATA='/a b'\n"), Not(HasSubstr("--dependency"))));
  array.after = {"12", "13"};
  array.memory_bytes = 0;
  EXPECT_THAT(SlurmScript(array, {}),
              AllOf(HasSubstr("--dependency=afterany:12:13\n"), HasSubstr("--array=0-2\n"),
                    Not(HasSubstr("--mem")), Not(HasSubstr("--partition"))));
  array.needs_their_success = true;
  EXPECT_THAT(SlurmScript(array, {}), HasSubstr("--dependency=afterok:12:13\n"));
}

// Slurm replaces %A and its like in a log's path, and nothing at all where it finds a backslash.
TEST(SlurmScript, KeepsLogsInFoldersOfAnyNameThatSlurmCanBeTold) {
  const TestFolder folder;
  JobArray array = Array(folder, "true");
  array.folder = "/runs/50%A of \"it's\" #1/slurm";
  EXPECT_THAT(SlurmScript(array, {}),
              HasSubstr(R"(#SBATCH --output="/runs/50%%A of \"it's\" #1/slurm/%A_%a.log")"
                        "\n"));
  EXPECT_EQ(CheckLogFolder(array.folder), absl::OkStatus());
  for (const char* bad : {"/runs/a\\b/slurm", "/runs/a\nb/slurm"}) {
    const absl::Status status = CheckLogFolder(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("without backslashes and line breaks"));
  }
}

// The environment of sbatch goes over its script.
TEST(SlurmScript, KnowsTheVariablesThatWouldGoOverIt) {
  const TestFolder folder;
  JobArray array = Array(folder, "true");
  EXPECT_THAT(VariablesOverScript(array, {}),
              AllOf(IsSupersetOf({"SBATCH_JOB_NAME", "SBATCH_ARRAY_INX", "SBATCH_TIMELIMIT",
                                  "SBATCH_NO_REQUEUE", "SBATCH_OPEN_MODE", "SBATCH_SIGNAL",
                                  "SBATCH_OUTPUT", "SBATCH_ERROR", "SBATCH_WAIT"}),
                    Not(Contains("SBATCH_PARTITION")), Not(Contains("SBATCH_ACCOUNT")),
                    Not(Contains("SBATCH_MEM_PER_CPU"))));
  array.memory_bytes = int64_t{1} << 30;
  EXPECT_THAT(VariablesOverScript(array, {.partition = "cpu", .account = "me"}),
              IsSupersetOf({"SBATCH_PARTITION", "SBATCH_ACCOUNT", "SBATCH_MEM_PER_NODE",
                            "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU"}));
}

TEST(GivesMemory, ByAnArgumentOfSbatch) {
  for (const char* argument : {"--mem=2G", "--mem", "--mem-per-cpu=1G", "--mem-per-gpu=8G"})
    EXPECT_TRUE(GivesMemory({.sbatch_arguments = {"--nice", argument}})) << argument;
  EXPECT_FALSE(GivesMemory({.sbatch_arguments = {"--mem-bind=local", "--gpus=1"}}));
}

// Slurm may send the signal a minute earlier than it is asked to.
TEST(SlurmScript, LeavesAMinuteBeforeTheSignalAtTheLeastLimit) {
  const TestFolder folder;
  JobArray array = Array(folder, "true");
  array.limit_seconds = kLeastLimitSeconds;
  EXPECT_THAT(SlurmScript(array, {}), AllOf(HasSubstr("#SBATCH --time=0:03:00\n"),
                                            HasSubstr("#SBATCH --signal=B:USR1@60\n")));
}

// Runs an element's script as a node does, with a scontrol that writes down what it was asked.
class ElementTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string scontrol = folder_.File("scontrol");
    ASSERT_EQ(WriteFileAtomically(
                  scontrol, absl::StrCat("#!/bin/sh\necho \"$@\" >>", folder_.File("asked"), "\n")),
              absl::OkStatus());
    chmod(scontrol.c_str(), 0755);
  }

  // `signals` is a shell command that runs beside the script, whose process is $script.
  ChildOutcome Run(const JobArray& array, const std::string& signals = ":", int restarts = 0) {
    const std::string script = folder_.File("script.sh");
    EXPECT_EQ(RemoveAll(folder_.File("ready")), absl::OkStatus());
    EXPECT_EQ(WriteFileAtomically(script, SlurmScript(array, {})), absl::OkStatus());
    const auto outcome = RunChild(
        {.words = {"bash", "-c",
                   absl::StrCat("bash ", script, " & script=$!; ", signals, "; wait $script")},
         .environment = {{"PATH", absl::StrCat(folder_.path(), ":", std::getenv("PATH"))},
                         {"SLURM_ARRAY_JOB_ID", "12"},
                         {"SLURM_ARRAY_TASK_ID", "1"},
                         {"SLURM_RESTART_COUNT", absl::StrCat(restarts)}}});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.value_or(ChildOutcome());
  }

  std::string Asked() const { return ReadFile(folder_.File("asked")).value_or(""); }
  // Waits for the file that the command makes when it is ready for a signal.
  std::string WhenReady(const std::string& signals) const {
    return absl::StrCat("while [ ! -e ", folder_.File("ready"), " ]; do sleep 0.01; done; ",
                        signals);
  }
  // Ends with this code after SIGTERM.
  std::string UntilTold(int code) const {
    return absl::StrCat("trap 'exit ", code, "' TERM; touch ", folder_.File("ready"),
                        "; while :; do sleep 0.01; done");
  }

  const TestFolder folder_;
};

TEST_F(ElementTest, RunsItsItemAndEndsAsItDoes) {
  const ChildOutcome outcome = Run(Array(folder_, "echo \"<$1> <$2>\"; exit 3"));
  EXPECT_EQ(outcome.output, "<it's b> <x/it's b>\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(Asked(), "");
}

// It is the exit code of a program whose libraries are not there, too.
TEST_F(ElementTest, FailsWhereItsCommandCannotBeStarted) {
  EXPECT_EQ(Run(Array(folder_, "exit 127")).exit_code, 127);
  JobArray array = Array(folder_, "true");
  array.words = {folder_.File("no-such-program")};
  EXPECT_EQ(Run(array).exit_code, 127);
  EXPECT_EQ(Asked(), "");
}

TEST_F(ElementTest, SaysWhichFolderANodeDoesNotSee) {
  JobArray array = Array(folder_, "echo begun");
  array.needed_paths = {folder_.path(), "/no/such"};
  const ChildOutcome outcome = Run(array);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("does not see /no/such"), Not(HasSubstr("begun"))));
}

TEST_F(ElementTest, SavesNearTheLimitAndQueuesItselfAgain) {
  EXPECT_EQ(Run(Array(folder_, UntilTold(75)), WhenReady("kill -USR1 $script")).exit_code, 75);
  EXPECT_EQ(Asked(), "requeue 12_1\n");
  // However often it began before.
  Run(Array(folder_, UntilTold(75)), WhenReady("kill -USR1 $script"), 9);
  EXPECT_EQ(Asked(), "requeue 12_1\nrequeue 12_1\n");
  EXPECT_FALSE(FileExists(folder_.File("12_1.retries")));
}

TEST_F(ElementTest, ThatSavedNothingNearTheLimitEnds) {
  EXPECT_EQ(Run(Array(folder_, UntilTold(1)), WhenReady("kill -USR1 $script")).exit_code, 1);
  EXPECT_EQ(Asked(), "");
}

TEST_F(ElementTest, LeavesToSlurmWhatSlurmEnds) {
  EXPECT_EQ(Run(Array(folder_, UntilTold(75)), WhenReady("kill -TERM $script")).exit_code, 75);
  EXPECT_EQ(Asked(), "");
}

TEST_F(ElementTest, SaysThatItIsQueuedAgainWhereSlurmDoesIt) {
  EXPECT_THAT(Run(Array(folder_, "kill -9 $$")).output,
              HasSubstr("lra: exit code 137: 12_1 is queued again\n"));
  ASSERT_EQ(WriteFileAtomically(folder_.File("scontrol"), "#!/bin/sh\nexit 1\n"), absl::OkStatus());
  chmod(folder_.File("scontrol").c_str(), 0755);
  const ChildOutcome refused = Run(Array(folder_, "kill -9 $$"));
  EXPECT_EQ(refused.exit_code, 137);
  EXPECT_THAT(refused.output, Not(HasSubstr("is queued again")));
}

// Slurm's own count has preemptions and time limits in it, too.
TEST_F(ElementTest, WhoseCommandIsKilledBeginsAgainThreeTimes) {
  const std::string requeues[] = {"requeue 12_1\n", "requeue 12_1\nrequeue 12_1\n",
                                  "requeue 12_1\nrequeue 12_1\nrequeue 12_1\n"};
  for (const std::string& asked : requeues) {
    EXPECT_EQ(Run(Array(folder_, "kill -9 $$"), ":", 7).exit_code, 137);
    EXPECT_EQ(Asked(), asked);
  }
  EXPECT_EQ(Run(Array(folder_, "kill -9 $$"), ":", 7).exit_code, 137);
  EXPECT_EQ(Asked(), requeues[2]);
}

}  // namespace
}  // namespace lra
