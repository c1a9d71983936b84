// What Slurm refuses, does not say or is told by a user's environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/files.h"
#include "suite/slurm_test_util.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using SlurmFailuresTest = SlurmStandIns;

TEST_F(SlurmFailuresTest, TheUsersVariablesGoOverNoFlag) {
  Client("sbatch", absl::StrCat("env >", folder_.File("seen"), "; echo 11"));
  for (const char* name : {"SBATCH_PARTITION", "SBATCH_TIMELIMIT", "SBATCH_JOB_NAME",
                           "SBATCH_ARRAY_INX", "SBATCH_NO_REQUEUE", "SBATCH_ACCOUNT"})
    Set(name, "mine");
  Add("a", 20);
  ASSERT_EQ(Train({.partition = "cpu"}), absl::OkStatus());
  const std::string seen = ReadFile(folder_.File("seen")).value_or("");
  EXPECT_THAT(seen, HasSubstr("SBATCH_ACCOUNT=mine\n")) << "no flag says otherwise";
  for (const char* name : {"PARTITION", "TIMELIMIT", "JOB_NAME", "ARRAY_INX", "NO_REQUEUE"})
    EXPECT_THAT(seen, Not(HasSubstr(absl::StrCat("SBATCH_", name, "=")))) << name;
}

TEST_F(SlurmFailuresTest, TheUsersVariablesHideNothingThatIsQueued) {
  Client("squeue", absl::StrCat("[ -n \"$SQUEUE_STATES\" ] || cat ", folder_.File("queue"),
                                " 2>/dev/null; true"));
  Set("SQUEUE_STATES", "RUNNING");
  Add("a", 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  Queue(1, {"0 PENDING|None"});
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_EQ(Script(2), "");
}

TEST_F(SlurmFailuresTest, ARefusalIsShownAndLeavesNothing) {
  Add("a", 20);
  ASSERT_EQ(WriteFileAtomically(folder_.File("refuses"), "sbatch: error: Invalid account\n"),
            absl::OkStatus());
  const absl::Status status = Train();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sbatch: error: Invalid account"));
  EXPECT_EQ(Script(1), "");
  EXPECT_FALSE(FileExists(options_.out + "/slurm/1.textproto"));
}

TEST_F(SlurmFailuresTest, ARefusedJobsNameIsNotGivenAgain) {
  Add("a", 20);
  Client("sbatch", absl::StrCat("sed -n s/^#SBATCH.*job-name=//p \"$2\" >>", folder_.File("names"),
                                "; exit 1"));
  EXPECT_FALSE(Train().ok());
  EXPECT_FALSE(Train().ok());
  const std::vector<std::string> names =
      absl::StrSplit(*ReadFile(folder_.File("names")), '\n', absl::SkipEmpty());
  ASSERT_EQ(names.size(), 2);
  EXPECT_NE(names[0], names[1]);
}

TEST_F(SlurmFailuresTest, WhereJobsAreLimitedAPartMayBeSubmitted) {
  Add("a", 20);
  for (const char* words :
       {"Invalid job array specification", "AssocMaxSubmitJobLimit", "job submit limit"}) {
    ASSERT_EQ(WriteFileAtomically(folder_.File("refuses"), words), absl::OkStatus());
    EXPECT_THAT(std::string(Train().message()), AllOf(HasSubstr(words), HasSubstr("--shard 0/4")));
  }
  ASSERT_EQ(WriteFileAtomically(folder_.File("refuses"), "time limit is invalid"),
            absl::OkStatus());
  EXPECT_THAT(std::string(Train().message()), Not(HasSubstr("--shard")));
}

TEST_F(SlurmFailuresTest, ASitesOwnSbatchMaySayMore) {
  Add("a", 20);
  Client("sbatch", "echo 'Welcome to Cluster 7'; echo '12;far'; echo 'Have a nice day'");
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(*ReadFile(options_.out + "/slurm/1.textproto"),
              AllOf(HasSubstr("job: \"12\"\n"), HasSubstr("cluster: \"far\"\n")));
}

// The controller took the job and answered too late.
TEST_F(SlurmFailuresTest, AJobThatIsQueuedThoughSbatchFailedIsKept) {
  Add("a", 20);
  Client("sbatch",
         absl::StrCat("echo \"$(sed -n s/^#SBATCH.*job-name=//p \"$2\")|0|77|PENDING|", "None\" >",
                      folder_.File("queue"), "; echo 'Socket timed out' >&2; exit 1"));
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(*ReadFile(options_.out + "/slurm/1.textproto"), HasSubstr("job: \"77\"\n"));
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_EQ(Script(2), "");
}

TEST_F(SlurmFailuresTest, ARecordIsKeptWhereNobodyKnowsWhetherTheJobIsQueued) {
  Add("a", 20);
  Client("sbatch", "echo 'Socket timed out' >&2; exit 1");
  Client("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  const absl::Status status = Train();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Socket timed out"), HasSubstr("may be queued all the same"),
                    HasSubstr("Unable to contact")));
  Client("squeue", absl::StrCat("cat ", folder_.File("queue")));
  Queue(1, {"0 RUNNING|None"});
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_EQ(Script(2), "");
}

TEST_F(SlurmFailuresTest, ARecordOfAClusterThatIsGoneIsNamed) {
  Add("a", 20);
  Client("sbatch", "echo '12;far'");
  ASSERT_EQ(Train(), absl::OkStatus());
  Client("squeue", "echo \"'far' can't be reached now, or it is an invalid entry\" >&2; exit 1");
  EXPECT_THAT(std::string(Train().message()),
              AllOf(HasSubstr("on cluster far: "), HasSubstr("move the records"),
                    HasSubstr(options_.out + "/slurm/1.textproto")));
}

TEST_F(SlurmFailuresTest, WithoutAnswerFromTheQueueNothingIsSubmitted) {
  Add("a", 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  Client("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
  EXPECT_THAT(std::string(Train().message()), HasSubstr("Unable to contact slurm controller"));
  EXPECT_EQ(Script(2), "");
}

TEST_F(SlurmFailuresTest, SaysWhatIsMissingWithoutSlurm) {
  Add("a", 20);
  setenv("PATH", "/no/such", 1);
  const absl::Status status = Train();
  EXPECT_THAT(std::string(status.message()), HasSubstr("sbatch was not found"));
}

}  // namespace
}  // namespace lra
