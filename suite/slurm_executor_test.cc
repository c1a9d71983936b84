// What is submitted, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "suite/slurm_test_util.h"
#include "suite/submissions.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using SlurmExecutorTest = SlurmStandIns;

TEST_F(SlurmExecutorTest, RunsOfEqualLengthShareAnArray) {
  Add("short-a", 20);
  Add("long", 36000);
  Add("short-b", 30);
  Add("large", 25, int64_t{8} << 30);
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(1), AllOf(HasSubstr("items=(\n  'short-a'\n  'short-b'\n)"),
                               HasSubstr("--time=0:10:00\n"), HasSubstr("--mem=1024M\n")));
  EXPECT_THAT(Script(2), AllOf(HasSubstr("items=(\n  'large'\n)"), HasSubstr("--time=0:10:00\n"),
                               HasSubstr("--mem=11008M\n")));  // 1.25 * (8192 + 512), in 256
  // 1.5 * 600 min + 5 min.
  EXPECT_THAT(Script(3), AllOf(HasSubstr("items=(\n  'long'\n)"), HasSubstr("--time=15:05:00\n")));
  EXPECT_THAT(Script(1), HasSubstr(absl::StrCat("'/shared/lra' 'run' '", options_.out,
                                                "/suite.textproto' '--out' '", options_.out,
                                                "' '--cell' ''\"$item\"'' '--threads' '1'")));
  EXPECT_THAT(Script(1), HasSubstr("  '/shared/data'\n"));
  EXPECT_FALSE(FileExists(absl::StrCat(options_.out, "/slurm/4.sh")));
}

TEST_F(SlurmExecutorTest, WhatIsQueuedIsNotSubmittedAgain) {
  for (const char* name : {"a", "b", "c"}) Add(name, 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  Queue(1, {"0 PENDING|Resources", "2 RUNNING|None"});
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(2), HasSubstr("items=(\n  'b'\n)"));
  Queue(2, {"0 PENDING|Priority"});
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_EQ(Script(3), "");
  const auto statuses = SlurmExecutor(options_, {})->Statuses(planned_.cells);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  EXPECT_THAT(StatusText(planned_.cells, *statuses),
              AllOf(HasSubstr("a  waiting   Slurm job 11_0 pending (Resources)\n"),
                    HasSubstr("b  waiting   Slurm job 12_0 pending (Priority)\n"),
                    HasSubstr("c  waiting   Slurm job 11_2 running\n")));
  EXPECT_EQ(SummaryText(*statuses), "0 of 3 runs finished, 3 left, 3 of them queued");
  EXPECT_EQ(QueueText(*statuses), "to cancel what is queued (running ones save): scancel 11 12\n");
}

TEST_F(SlurmExecutorTest, OneProcessSubmitsAtATime) {
  Add("a", 20);
  {
    const auto lock = Submissions::Lock(options_.out + "/slurm");
    ASSERT_TRUE(lock.ok()) << lock.status();
    const absl::Status second = Train();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.message()), HasSubstr("which submits jobs of this folder"));
  }
  EXPECT_EQ(Submitted(), "");
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(1), HasSubstr("items=(\n  'a'\n)"));
}

TEST_F(SlurmExecutorTest, SaysWhatBecameOfElementsThatLeftTheQueue) {
  for (const char* name : {"a", "b"}) Add(name, 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(options_.out + "/slurm/11_0.log", "begun\nno space\n\n"),
            absl::OkStatus());
  Client("sacct", "echo '11_0|TIMEOUT'");
  const auto statuses = SlurmExecutor(options_, {})->Statuses(planned_.cells);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  EXPECT_THAT(StatusText(planned_.cells, *statuses),
              AllOf(HasSubstr(absl::StrCat("Slurm job 11_0 ended (TIMEOUT): \"no space\" (",
                                           options_.out, "/slurm/11_0.log)\n")),
                    HasSubstr("Slurm job 11_1 ended and wrote nothing here: cancelled, or do nodes "
                              "not see this folder?\n")));
  EXPECT_EQ(QueueText(*statuses), "");
}

// Each of several clusters has a job 12, and a client asks its own where it is told no other. What
// was submitted before clusters were noted has none in its record.
TEST_F(SlurmExecutorTest, AJobIsAskedForAtTheClusterThatTookIt) {
  Add("here", 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  Queue(1, {"0 RUNNING|None"});
  Client("sbatch", "echo '12;far'");
  const std::string of_cluster = "case \"$*\" in *--clusters=far*) at=.far ;; *) at= ;; esac; ";
  Client("squeue",
         absl::StrCat(of_cluster, "cat ", folder_.File("queue"), "$at 2>/dev/null; true"));
  Client("sacct", absl::StrCat(of_cluster, "echo \"12_0|FAILED$at\""));
  Add("there", 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(2), HasSubstr("items=(\n  'there'\n)"));
  EXPECT_THAT(*ReadFile(options_.out + "/slurm/1.textproto"), Not(HasSubstr("cluster")));
  EXPECT_THAT(*ReadFile(options_.out + "/slurm/2.textproto"),
              AllOf(HasSubstr("job: \"12\"\n"), HasSubstr("cluster: \"far\"\n")));
  Queue(2, {"0 PENDING|Resources"}, "queue.far");
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_EQ(Script(3), "") << "what is queued there was submitted again";
  auto statuses = SlurmExecutor(options_, {})->Statuses(planned_.cells);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  EXPECT_THAT(StatusText(planned_.cells, *statuses),
              AllOf(HasSubstr("Slurm job 11_0 running\n"),
                    HasSubstr("Slurm job 12_0 of cluster far pending (Resources)\n")));
  EXPECT_EQ(QueueText(*statuses),
            "to cancel what is queued (running ones save): scancel 11; "
            "scancel --clusters=far 12\n");
  const auto json = StatusJson(planned_.cells, *statuses);
  EXPECT_FALSE(json["runs"][0]["slurm"].contains("cluster"));
  EXPECT_EQ(json["runs"][1]["slurm"]["cluster"], "far");
  // How it ended is asked there, too.
  Client("squeue", "true");
  statuses = SlurmExecutor(options_, {})->Statuses(planned_.cells);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  EXPECT_THAT(StatusText(planned_.cells, *statuses),
              HasSubstr("Slurm job 12_0 of cluster far ended (FAILED.far) and wrote nothing"));
}

TEST_F(SlurmExecutorTest, WhatLackedMemoryIsGivenTwiceAsMuch) {
  options_.retries_failed = true;
  for (const char* name : {"killed", "lost", "well"}) Add(name, 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(1), AllOf(HasSubstr("items=(\n  'killed'\n  'lost'\n  'well'\n)"),
                               HasSubstr("--mem=1024M\n")));
  // A run notes how its process was killed, and Slurm may keep accounts of elements.
  SuiteFailure failure;
  failure.set_signal(9);
  failure.set_lacked_memory(true);
  failure.set_memory_bytes(int64_t{1} << 30);
  ASSERT_EQ(WriteFailure(options_.out, planned_.cells[0], failure), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(options_.out + "/slurm/11_1.log", "step 3\n"), absl::OkStatus());
  Client("sacct", "echo '11_1|OUT_OF_MEMORY'; echo '11_2|FAILED'");
  const auto statuses = SlurmExecutor(options_, {})->Statuses(planned_.cells);
  ASSERT_TRUE(statuses.ok()) << statuses.status();
  EXPECT_THAT(StatusText(planned_.cells, *statuses),
              HasSubstr("Slurm job 11_1 ended (OUT_OF_MEMORY of 1.1 GB): \"step 3\""));
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(2), AllOf(HasSubstr("items=(\n  'well'\n)"), HasSubstr("--mem=1024M\n")));
  EXPECT_THAT(Script(3),
              AllOf(HasSubstr("items=(\n  'killed'\n  'lost'\n)"), HasSubstr("--mem=2048M\n")));
  // Whoever says how much is given that.
  ASSERT_EQ(Train({.memory_bytes = int64_t{3} << 30}), absl::OkStatus());
  EXPECT_THAT(Script(4), AllOf(HasSubstr("items=(\n  'killed'\n  'lost'\n  'well'\n)"),
                               HasSubstr("--mem=3072M\n")));
}

TEST_F(SlurmExecutorTest, AtMostHoldsForAllArrays) {
  Add("short", 20);
  Add("long", 36000);
  ASSERT_EQ(Train({.at_most = 5}), absl::OkStatus());
  EXPECT_THAT(Script(1), AllOf(HasSubstr("--array=0-0%5\n"), Not(HasSubstr("--dependency"))));
  EXPECT_THAT(Script(2), AllOf(HasSubstr("--array=0-0%5\n"), HasSubstr("=afterany:11\n")));
}

TEST_F(SlurmExecutorTest, FlagsWinOverPredictions) {
  Add("a", -1);
  Add("b", 36000);
  ASSERT_EQ(Train({.sbatch_arguments = {"--gpus=1", "--nice"},
                   .limit_seconds = 7200,
                   .memory_bytes = int64_t{2} << 30}),
            absl::OkStatus());
  EXPECT_THAT(Script(1), AllOf(HasSubstr("'a'\n  'b'\n"), HasSubstr("--time=2:00:00\n"),
                               HasSubstr("--mem=2048M\n")));
  EXPECT_EQ(Submitted(),
            absl::StrCat("--parsable --gpus=1 --nice ", options_.out, "/slurm/1.sh\n"));
}

TEST_F(SlurmExecutorTest, MemoryThatSbatchIsGivenIsNotAskedForTwice) {
  Add("a", 20);
  ASSERT_EQ(Train({.sbatch_arguments = {"--mem-per-cpu=3G"}}), absl::OkStatus());
  EXPECT_THAT(Script(1), AllOf(HasSubstr("--time=0:10:00\n"), Not(HasSubstr("--mem"))));
}

TEST_F(SlurmExecutorTest, AJobIsNamedAfterItsFolder) {
  options_.out += "/";
  Add("a", 20);
  ASSERT_EQ(Train(), absl::OkStatus());
  EXPECT_THAT(Script(1), HasSubstr("--job-name=out-"));
}

TEST_F(SlurmExecutorTest, WhatWasNotMeasuredNeedsATime) {
  Add("a", -1);
  planned_.failures["a"] = "no such device";
  const absl::Status status = Train();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("a could not be measured here"), HasSubstr("give --time")));
  EXPECT_EQ(Submitted(), "");
}

TEST_F(SlurmExecutorTest, AFolderThatCannotHoldLogsIsRefusedBeforeAnythingIsMade) {
  Add("a", 20);
  options_.out = folder_.File("out\\there");
  const absl::Status status = Train();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("out\\\\there/slurm\""));
  EXPECT_EQ(SlurmExecutor(options_, {})->Preview(planned_, false).status(), status);
  EXPECT_EQ(Submitted(), "");
  EXPECT_FALSE(FileExists(options_.out));
}

TEST_F(SlurmExecutorTest, PreviewSubmitsNothing) {
  Add("a", 20);
  const auto text = SlurmExecutor(options_, {})->Preview(planned_, false);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(HasSubstr("array of 1 run, each at most 10 min"),
                           HasSubstr("#SBATCH --array=0-0\n")));
  const auto json = SlurmExecutor(options_, {})->Preview(planned_, true);
  ASSERT_TRUE(json.ok()) << json.status();
  const auto arrays = nlohmann::json::parse(*json);
  EXPECT_EQ(arrays[0]["limit_seconds"], 600);
  EXPECT_EQ(Submitted(), "");
  EXPECT_FALSE(FileExists(options_.out + "/slurm"));
}

}  // namespace
}  // namespace lra
