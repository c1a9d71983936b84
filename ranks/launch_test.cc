#include "ranks/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lra {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<Launch> Read(const Variables& variables) {
  return ReadLaunch([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

Variables Torchrun() {
  return {{"RANK", "3"},          {"WORLD_SIZE", "8"},
          {"LOCAL_RANK", "1"},    {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "a.b"}, {"MASTER_PORT", "29500"}};
}

Variables Slurm() {
  return {{"SLURM_PROCID", "2"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
          {"SLURM_JOB_ID", "1000"},
          {"SLURM_STEP_ID", "5"},
          {"SLURM_STEP_NODELIST", "gpu[07-08]"},
          {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"}};
}

std::string Refusal(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  if (value.empty()) variables.erase(name);
  const auto launch = Read(variables);
  EXPECT_TRUE(absl::IsInvalidArgument(launch.status())) << name << "=" << value;
  return std::string(launch.status().message());
}

TEST(Launch, IsAloneWithoutALauncher) {
  const Launch launch = *Read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"MASTER_PORT", "x"}});
  EXPECT_EQ(launch.size, 1);
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.starter, "");
}

TEST(Launch, ReadsTorchrun) {
  const Launch launch = *Read(Torchrun());
  EXPECT_EQ(launch.starter, "torchrun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.address, "a.b");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_FALSE(launch.has_store);
  EXPECT_EQ(launch.attempt, 0);
}

TEST(Launch, KnowsTheStoreOfTorchrunsAgent) {
  Variables variables = Torchrun();
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  const Launch launch = *Read(variables);
  EXPECT_TRUE(launch.has_store);
  EXPECT_EQ(launch.attempt, 2);
}

TEST(Launch, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(Refusal(Torchrun(), "RANK", "8"),
              HasSubstr("RANK is \"8\", must be a whole number from 0 to 7"));
  EXPECT_THAT(Refusal(Torchrun(), "RANK", ""), HasSubstr("RANK is not set"));
  EXPECT_THAT(Refusal(Torchrun(), "WORLD_SIZE", "two"), HasSubstr("WORLD_SIZE is \"two\""));
  EXPECT_THAT(Refusal(Torchrun(), "WORLD_SIZE", ""), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(Refusal(Torchrun(), "MASTER_ADDR", ""), HasSubstr("must name the host of rank 0"));
  EXPECT_THAT(Refusal(Torchrun(), "MASTER_PORT", "70000"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(Refusal(Slurm(), "SLURM_PROCID", "4"), HasSubstr("SLURM_PROCID is \"4\""));
}

TEST(Launch, ReadsAStepOfSlurm) {
  const Launch launch = *Read(Slurm());
  EXPECT_EQ(launch.starter, "Slurm");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.address, "gpu07");
  EXPECT_EQ(launch.port, 15000 + (31 * 1000 + 5) % 15000);
}

TEST(Launch, TakesWhatAPersonSetsOverSlurms) {
  Variables variables = Slurm();
  variables["MASTER_ADDR"] = "10.1.1.1";
  variables["MASTER_PORT"] = "4000";
  EXPECT_EQ(Read(variables)->address, "10.1.1.1");
  EXPECT_EQ(Read(variables)->port, 4000);
}

TEST(Launch, MeetsWhereSrunWasTypedWithoutAListOfNodes) {
  Variables variables = Slurm();
  variables.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(Read(variables)->address, "10.0.0.9");
}

TEST(Launch, IsAloneInAStepOfOneTask) {
  Variables variables = Slurm();
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(Read(variables)->size, 1);
}

TEST(Launch, KnowsTheCoresOfASlurmTask) {
  EXPECT_EQ(Read(Slurm())->cores, 0);
  Variables slurm = Slurm(), torchrun = Torchrun();
  slurm["SLURM_CPUS_PER_TASK"] = torchrun["SLURM_CPUS_PER_TASK"] = "8";
  EXPECT_EQ(Read(slurm)->cores, 8);
  // Processes of torchrun share those of the task in which it runs.
  EXPECT_EQ(Read(torchrun)->cores, 0);
  EXPECT_THAT(Refusal(Slurm(), "SLURM_CPUS_PER_TASK", "many"),
              HasSubstr("SLURM_CPUS_PER_TASK is \"many\""));
}

TEST(Launch, TellsApartWhoMayUseOtherCards) {
  const auto cards = [](Variables variables, const char* visible, const char* of_step) {
    variables["CUDA_VISIBLE_DEVICES"] = visible;
    variables["SLURM_STEP_GPUS"] = of_step;
    return Read(variables)->cards;
  };
  EXPECT_EQ(cards(Slurm(), "0,1", "2,3"), cards(Slurm(), "0,1", "2,3"));
  EXPECT_NE(cards(Slurm(), "2", "2,3"), cards(Slurm(), "3", "2,3"));
  // Each task counts its one card from 0.
  EXPECT_NE(cards(Slurm(), "0", "2"), cards(Slurm(), "0", "3"));
  EXPECT_NE(cards(Torchrun(), "0", "0,1"), cards(Torchrun(), "1", "0,1"));
}

TEST(Launch, SharesCoresAmongTheRanksOfAMachine) {
  Launch launch;
  launch.size = 8;
  launch.local_size = 4;
  EXPECT_EQ(ThreadsOfRank(launch, 32), 8);
  EXPECT_EQ(ThreadsOfRank(launch, 3), 1);
  launch.local_size = 0;  // all eight may be here
  EXPECT_EQ(ThreadsOfRank(launch, 32), 4);
}

TEST(Launch, TakesTheCoresOfASlurmTaskUndivided) {
  Launch launch;
  launch.size = launch.local_size = 4;
  launch.cores = 8;
  EXPECT_EQ(ThreadsOfRank(launch, 8), 8);   // bound to them
  EXPECT_EQ(ThreadsOfRank(launch, 32), 8);  // free on the whole machine
  EXPECT_EQ(ThreadsOfRank(launch, 2), 2);
}

TEST(Launch, FindsTheFirstHost) {
  EXPECT_EQ(FirstHost("node[07-09,12]"), "node07");
  EXPECT_EQ(FirstHost("node[3]"), "node3");
  EXPECT_EQ(FirstHost("a,b3"), "a");
  EXPECT_EQ(FirstHost("solo"), "solo");
  EXPECT_EQ(FirstHost(""), "");
}

}  // namespace
}  // namespace lra
