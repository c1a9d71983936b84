#include "suite/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/parallel.h"
#include "lra/textproto.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<SuiteCell> Cells(int count) {
  std::vector<SuiteCell> cells(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) cells[static_cast<size_t>(i)].name = absl::StrCat("run", i);
  return cells;
}

// Runs a shell command for each cell, with NAME and OUT in it.
PoolOptions Shell(const TestFolder& folder, const std::string& script) {
  PoolOptions options;
  options.out = folder.path();
  options.workers = 2;
  options.is_quiet = true;
  options.command = [out = folder.path(), script](const std::vector<const SuiteCell*>& cells, int) {
    std::string names;
    for (const SuiteCell* cell : cells) absl::StrAppend(&names, " ", cell->name);
    return std::vector<std::string>{
        "sh", "-c",
        absl::StrCat("NAME=", cells[0]->name, "; NAMES='", names, "'; OUT=", out, "; ", script)};
  };
  EXPECT_EQ(ClaimSuiteFolder(options.out, SuiteFile()), absl::OkStatus());
  return options;
}

// Each worker has a number of its own, by which it may choose its card.
TEST(RunCells, WorkersHaveNumbers) {
  const TestFolder folder;
  PoolOptions options = Shell(folder, "");
  options.command = [out = folder.path()](const std::vector<const SuiteCell*>& cells, int worker) {
    // Both wait for each other, so that neither takes both runs.
    return std::vector<std::string>{
        "sh", "-c",
        absl::StrCat("touch ", out, "/worker", worker, "; n=0; until [ -e ", out,
                     "/worker0 ] && [ -e ", out,
                     "/worker1 ] || [ $n -gt 30000 ]; do sleep 0.02; n=$((n + 1)); done; exit 3")};
  };
  ASSERT_EQ(RunCells(Cells(2), options), absl::OkStatus());
  EXPECT_TRUE(FileExists(folder.File("worker0")));
  EXPECT_TRUE(FileExists(folder.File("worker1")));
}

// What a worker writes of the cores that it may use.
constexpr char kNoteCores[] =
    "sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status > $OUT/$NAME.cores; ";

// The worker's next process has the cores of the one before.
TEST(RunCells, PinnedWorkersHaveCoresOfTheirOwn) {
  const std::vector<int> cores = AllowedCores();
  if (cores.size() < 2) GTEST_SKIP() << "one core cannot be shared out";
  const TestFolder folder;
  // The workers wait for each other, so that each takes two runs.
  const std::string script = absl::StrCat(
      kNoteCores, "n=0; until [ $(ls $OUT/*.cores | wc -l) -ge $WANTED ] || [ $n -gt 30000 ]; ",
      "do sleep 0.02; n=$((n + 1)); done; exit 3");
  PoolOptions options = Shell(folder, "");
  const auto locks = CoreLocks::Open(folder.File("locks"), {cores[0], cores[1]});
  ASSERT_TRUE(locks.ok()) << locks.status();
  options.pinning = {*locks, 1};
  options.command = [&](const std::vector<const SuiteCell*>& run, int worker) {
    const std::string& name = run[0]->name;
    return std::vector<std::string>{
        "sh", "-c",
        absl::StrCat("NAME=", name, ".", worker, "; OUT=", folder.path(),
                     "; WANTED=", name == "run0" || name == "run1" ? 2 : 4, "; ", script)};
  };
  ASSERT_EQ(RunCells(Cells(4), options), absl::OkStatus());
  std::map<std::string, std::set<std::string>> cores_of_worker;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".cores") continue;
    cores_of_worker[entry.path().stem().extension()].insert(*ReadFile(entry.path().string()));
  }
  ASSERT_EQ(cores_of_worker.size(), 2U);
  EXPECT_EQ(cores_of_worker[".0"].size(), 1U);
  EXPECT_EQ(cores_of_worker[".1"].size(), 1U);
  EXPECT_THAT(
      (std::vector<std::string>{*cores_of_worker[".0"].begin(), *cores_of_worker[".1"].begin()}),
      UnorderedElementsAre(absl::StrCat(cores[0], "\n"), absl::StrCat(cores[1], "\n")));
  EXPECT_TRUE((*locks)->Take(2).ok()) << "its workers have ended";
}

TEST(RunCells, AWorkerWithoutFreeCoresIsNotPinned) {
  const TestFolder folder;
  PoolOptions options = Shell(folder, absl::StrCat(kNoteCores, "exit 3"));
  ASSERT_EQ(RunCells(Cells(1), options), absl::OkStatus());
  const std::string all = *ReadFile(folder.File("run0.cores"));
  const auto locks = CoreLocks::Open(folder.File("locks"), {AllowedCores()[0]});
  ASSERT_TRUE(locks.ok()) << locks.status();
  const auto of_another = (*locks)->Take(1);
  ASSERT_TRUE(of_another.ok()) << of_another.status();
  options.pinning = {*locks, 1};
  options.retries_failed = true;
  testing::internal::CaptureStderr();
  ASSERT_EQ(RunCells(Cells(3), options), absl::OkStatus());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: a worker runs unpinned, as others may: it takes 1 of 1 cores, and 0 are free\n");
  for (const SuiteCell& cell : Cells(3))
    EXPECT_EQ(*ReadFile(folder.File(absl::StrCat(cell.name, ".cores"))), all);
}

// Seeds of a cell go together, so many to a process.
TEST(RunCells, TrainsSeedsOfACellInOneProcess) {
  const TestFolder folder;
  std::vector<SuiteCell> cells(7);
  const char* const names[] = {"a-s0", "b-s0", "a-s1", "b-s1", "a-s2", "a-s3", "c-s0"};
  for (size_t i = 0; i < cells.size(); ++i) cells[i].name = names[i];
  PoolOptions options = Shell(folder, "echo $NAMES >> $OUT/groups; echo no data; exit 3");
  options.workers = 1;
  options.at_once = 3;
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(folder.path(), "groups")),
            "a-s0 a-s1 a-s2\nb-s0 b-s1\na-s3\nc-s0\n");
  // Each has its share of the process's memory, and knows how many there were.
  const auto time_of = [&](const std::string& name) {
    SuiteTime time;
    EXPECT_TRUE(ReadTextProto(folder.File(absl::StrCat("times/", name, ".textproto")), &time).ok());
    EXPECT_EQ(time.device(), "cpu");
    return time;
  };
  const SuiteTime three = time_of("a-s0"), one = time_of("c-s0");
  EXPECT_LT(3 * three.peak_memory_bytes(), 2 * one.peak_memory_bytes());
  EXPECT_EQ(three.runs_at_once(), 3);
  EXPECT_EQ(one.runs_at_once(), 1);
  for (const SuiteCell& cell : cells) {
    const CellStatus status = ReadCellStatus(folder.path(), cell);
    EXPECT_EQ(status.state, CellState::kFailed) << cell.name;
    EXPECT_EQ(status.failure.message(), "no data") << cell.name;
  }
}

// One command cannot name several encoders.
TEST(RunCells, SeedsWithEncodersOfTheirOwnDoNotGoTogether) {
  const TestFolder folder;
  std::vector<SuiteCell> cells(3);
  for (size_t i = 0; i < cells.size(); ++i) cells[i].name = absl::StrCat("a-s", i);
  cells[1].choice.sets = {"encoder_weights_sha256=1a"};
  PoolOptions options = Shell(folder, "echo $NAMES >> $OUT/groups; exit 3");
  options.workers = 1;
  options.at_once = 3;
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(folder.path(), "groups")), "a-s0 a-s2\na-s1\n");
}

TEST(TrainManyCommand, NamesAllSeeds) {
  std::vector<SuiteCell> cells(2);
  cells[0].name = "listops-linear-s3";
  cells[0].seed = 3;
  cells[1].name = "listops-linear-s5";
  cells[1].seed = 5;
  const auto one = TrainManyCommand("lra", "out", {&cells[0]}, 2);
  EXPECT_EQ(one, TrainCommand("lra", "out/listops-linear-s3", cells[0], 2));
  const std::string both =
      absl::StrJoin(TrainManyCommand("lra", "out", {&cells[0], &cells[1]}, 2), " ");
  EXPECT_THAT(both, HasSubstr("--seeds 3,5 --out out/listops-linear --threads 2"));
  EXPECT_THAT(both, HasSubstr("--at-once 2"));
  // The cheapest run, which goes first, may be one of a later seed.
  EXPECT_THAT(absl::StrJoin(TrainManyCommand("lra", "out", {&cells[1], &cells[0]}, 2), " "),
              HasSubstr("--seeds 3,5 --out out/listops-linear --threads 2"));
}

TEST(RunCells, NoMoreSeedsGoTogetherThanEndInTime) {
  const TestFolder folder;
  std::vector<SuiteCell> cells(4);
  for (size_t i = 0; i < cells.size(); ++i) cells[i].name = absl::StrCat("a-s", i);
  PoolOptions options = Shell(folder, "echo $NAMES >> $OUT/groups; exit 3");
  options.workers = 1;
  options.at_once = 4;
  options.seconds_left = {400, 400, 400, 400};
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1000);
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(folder.path(), "groups")), "a-s0 a-s1\na-s2 a-s3\n");
  // Runs whose time nobody knows go together: none ends sooner by itself.
  const TestFolder unknown;
  options = Shell(unknown, "echo $NAMES >> $OUT/groups; exit 3");
  options.workers = 1;
  options.at_once = 4;
  options.seconds_left.assign(4, std::numeric_limits<double>::infinity());
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1000);
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(unknown.path(), "groups")), "a-s0 a-s1 a-s2 a-s3\n");
}

TEST(RunCells, StartsEachOnceAndNotesHowItFailed) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(5);
  const PoolOptions options = Shell(folder, "echo begin >> $OUT/$NAME.count; echo no data; exit 3");
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  for (const SuiteCell& cell : cells) {
    EXPECT_EQ(*ReadFile(JoinPath(folder.path(), cell.name + ".count")), "begin\n");
    const CellStatus status = ReadCellStatus(folder.path(), cell);
    EXPECT_EQ(status.state, CellState::kFailed);
    EXPECT_EQ(status.failure.exit_code(), 3);
    EXPECT_EQ(status.failure.message(), "no data");
  }
  // A failed run is tried again when somebody asks, and only then.
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(folder.path(), "run0.count")), "begin\n");
  PoolOptions again = options;
  again.retries_failed = true;
  ASSERT_EQ(RunCells(cells, again), absl::OkStatus());
  EXPECT_EQ(*ReadFile(JoinPath(folder.path(), "run0.count")), "begin\nbegin\n");
}

TEST(RunCells, NotesASignal) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(1);
  ASSERT_EQ(RunCells(cells, Shell(folder, "kill -9 $$")), absl::OkStatus());
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).failure.signal(), SIGKILL);
}

TEST(RunCells, ARemarkIsNotWhyARunWasKilled) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(2);
  ASSERT_EQ(RunCells(cells, Shell(folder,
                                  "echo step 3; echo note: a; echo warning: b; "
                                  "[ $NAME = run0 ] && kill -9 $$; exit 3")),
            absl::OkStatus());
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).failure.message(), "step 3");
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[1]).failure.message(), "warning: b");
  const std::vector<SuiteCell> silent = {cells[0]};
  PoolOptions again = Shell(folder, "echo warning: b; kill -9 $$");
  again.retries_failed = true;
  ASSERT_EQ(RunCells(silent, again), absl::OkStatus());
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).failure.message(), "");
}

// The system counts what it kills so; run1 is killed by somebody else.
TEST(RunCells, NotesWhatWasKilledForWantOfMemory) {
  const TestFolder folder;
  const std::string root = folder.File("root"), group = JoinPath(root, "sys/fs/cgroup/job"),
                    counts = JoinPath(group, "memory.events");
  ASSERT_EQ(MakeDirectories(group), absl::OkStatus());
  ASSERT_EQ(MakeDirectories(JoinPath(root, "proc/self")), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(JoinPath(root, "proc/self/cgroup"), "0::/job\n"), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(counts, "oom 0\noom_kill 0\n"), absl::OkStatus());
  PoolOptions options = Shell(folder, absl::StrCat("[ $NAME != run0 ] || echo oom_kill 1 > ",
                                                   counts, "; echo step 3; kill -9 $$"));
  options.workers = 1;
  options.system_root = root;
  setenv("SLURM_MEM_PER_NODE", "1024", 1);
  const absl::Status status = RunCells(Cells(2), options);
  unsetenv("SLURM_MEM_PER_NODE");
  ASSERT_EQ(status, absl::OkStatus());
  const SuiteFailure lacking = ReadCellStatus(folder.path(), Cells(2)[0]).failure,
                     killed = ReadCellStatus(folder.path(), Cells(2)[1]).failure;
  EXPECT_EQ(lacking.signal(), SIGKILL);
  EXPECT_TRUE(lacking.lacked_memory());
  EXPECT_EQ(lacking.memory_bytes(), int64_t{1} << 30);
  EXPECT_EQ(lacking.message(), "step 3");
  EXPECT_EQ(killed.signal(), SIGKILL);
  EXPECT_FALSE(killed.lacked_memory());
  EXPECT_EQ(killed.memory_bytes(), 0);
}

// A batch system that ends a job signals all of its processes, those that only begin too.
TEST(RunCells, AWorkerThatWasAskedToEndHasNotFailed) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(1);
  ASSERT_EQ(RunCells(cells, Shell(folder, "kill -TERM $$")), absl::OkStatus());
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).state, CellState::kWaiting);
}

TEST(RunCells, WhatIsNoProgramIsNoFailureOfARun) {
  const TestFolder folder;
  PoolOptions options = Shell(folder, "");
  options.command = [](const auto&, int) { return std::vector<std::string>{"/no/such/program"}; };
  const absl::Status status = RunCells(Cells(3), options);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot start /no/such/program"));
  EXPECT_EQ(ReadCellStatus(folder.path(), Cells(1)[0]).state, CellState::kWaiting);
}

TEST(RunCells, ABudgetEndsRunsAndIsNoFailure) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(6);
  PoolOptions options = Shell(folder, "echo begun > $OUT/$NAME.begun; sleep 600");
  options.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  EXPECT_FALSE(ReadFile(JoinPath(folder.path(), "run2.begun")).ok());
  for (const SuiteCell& cell : cells)
    EXPECT_EQ(ReadCellStatus(folder.path(), cell).state, CellState::kWaiting);
}

// Also where this program handles the signal, and however early it comes.
TEST(RunCells, StopsWhenAskedTo) {
  const TestFolder folder;
  const auto before = signal(SIGTERM, [](int) {});
  for (const int milliseconds : {0, 1, 2, 5, 50}) {
    std::thread asking([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      StopSuite();
    });
    EXPECT_EQ(RunCells(Cells(3), Shell(folder, "sleep 600")), absl::OkStatus());
    asking.join();
  }
  signal(SIGTERM, before);
}

TEST(RunCells, WaitsForARunThatAnotherProcessTrains) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(1);
  const PoolOptions options = Shell(folder, "echo done; exit 3");
  ASSERT_TRUE(MakeDirectories(RunDirectory(folder.path(), cells[0])).ok());
  auto lock = FileLock::Acquire(JoinPath(RunDirectory(folder.path(), cells[0]), ".lock"));
  ASSERT_TRUE(lock.ok());
  std::optional<FileLock> held(*std::move(lock));
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).state, CellState::kRunning);
    held.reset();
  });
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  ending.join();
  EXPECT_EQ(ReadCellStatus(folder.path(), cells[0]).failure.exit_code(), 3);
}

// The worker finds the folder taken by a process that came between the look at it and its start.
TEST(RunCells, ARunThatAnotherProcessTookIsNoFailure) {
  const TestFolder folder;
  const std::vector<SuiteCell> cells = Cells(2);
  const PoolOptions options = Shell(
      folder,
      "echo begin >> $OUT/$NAME.count; [ $(wc -l < $OUT/$NAME.count) = 3 ] || exit 75; exit 3");
  ASSERT_EQ(RunCells(cells, options), absl::OkStatus());
  for (const SuiteCell& cell : cells) {
    EXPECT_EQ(*ReadFile(JoinPath(folder.path(), cell.name + ".count")), "begin\nbegin\nbegin\n");
    EXPECT_EQ(ReadCellStatus(folder.path(), cell).failure.exit_code(), 3);
  }
}

// The order in which one worker begins the runs.
std::string OrderOf(const std::vector<double>& seconds_left, Deadline deadline) {
  const TestFolder folder;
  PoolOptions options = Shell(folder, "echo $NAME >> $OUT/order; exit 3");
  options.workers = 1;
  options.seconds_left = seconds_left;
  options.deadline = deadline;
  EXPECT_EQ(RunCells(Cells(static_cast<int>(seconds_left.size())), options), absl::OkStatus());
  return *ReadFile(JoinPath(folder.path(), "order"));
}

TEST(RunCells, WhatDoesNotEndInTimeGivesWay) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1000);
  EXPECT_EQ(OrderOf({5000, 10, 3000, 20}, deadline), "run1\nrun3\nrun2\nrun0\n");
  EXPECT_EQ(OrderOf({5000, 10, 3000, 20}, std::nullopt), "run0\nrun1\nrun2\nrun3\n");
}

TEST(TrainCommand, SaysEverythingOfTheRun) {
  SuiteCell cell;
  cell.choice = {"text", "linear", "fair", "small", "", {"train.steps=5"}};
  cell.seed = 3;
  cell.name = "text-linear-s3";
  EXPECT_THAT(TrainCommand("lra", "out/text-linear-s3", cell, 2),
              ElementsAre("lra", "train", "--task", "text", "--attention", "linear", "--protocol",
                          "fair", "--preset", "small", "--set", "train.steps=5", "--seeds", "3",
                          "--out", "out/text-linear-s3", "--threads", "2", "--resume", "--quiet"));
}

}  // namespace
}  // namespace lra
