#include "eval/table_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/leaderboard_test_util.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::HasSubstr;
using ::testing::Not;

LocatedRecord RunThatTook(const std::string& method, uint32_t seed, double seconds) {
  LocatedRecord run = MakeRun({.method = method, .seed = seed, .correct = 900});
  run.record.mutable_efficiency()->set_wall_seconds(seconds);
  run.record.mutable_efficiency()->set_threads(2);
  return run;
}

std::string Table(const std::vector<LocatedRecord>& runs, bool shows_cost = true,
                  TableFormat format = TableFormat::kMarkdown) {
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {},
                                      {.shows_cost = shows_cost, .descriptions = {}});
  return board.ok() ? WriteLeaderboard(*board, format) : std::string(board.status().message());
}

TEST(TableCostTest, HoursOfARunAreItsTimeTimesItsThreads) {
  // (1,800 + 5,400) / 2 seconds on two threads.
  const std::string text = Table({MakeBaseline("majority", 340), RunThatTook("linear", 0, 1800),
                                  RunThatTook("linear", 1, 5400)});
  EXPECT_THAT(text, HasSubstr("| core-hours |"));
  EXPECT_THAT(text, HasSubstr("| 2.00       |"));
  EXPECT_THAT(text, HasSubstr("Core-hours: time of training times threads"));
  EXPECT_THAT(text, Not(HasSubstr("kJ")));
}

TEST(TableCostTest, ThreadsOfAllProcessesCount) {
  LocatedRecord run = RunThatTook("linear", 0, 1800);
  run.record.mutable_efficiency()->set_processes(4);
  EXPECT_THAT(Table({run}), HasSubstr("| 4.00       |"));
}

TEST(TableCostTest, IsShownWhereAskedFor) {
  EXPECT_THAT(Table({RunThatTook("linear", 0, 1800)}, false), Not(HasSubstr("ore-hours")));
}

TEST(TableCostTest, PretrainingIsCounted) {
  LocatedRecord run = RunThatTook("linear", 0, 1800);
  run.record.mutable_pretrain()->set_seconds(3600);
  EXPECT_THAT(Table({run}), HasSubstr("| 3.00       |"));
}

TEST(TableCostTest, CpuTimeIsTakenWhereARecordHasIt) {
  LocatedRecord run = RunThatTook("linear", 0, 1800);
  run.record.mutable_efficiency()->set_cpu_seconds(900);
  run.record.mutable_pretrain()->set_seconds(1800);
  // A quarter of an hour, and half an hour on two threads.
  const std::string text = Table({run});
  EXPECT_THAT(text, HasSubstr("| 1.25       |"));
  EXPECT_THAT(text, HasSubstr("Core-hours: CPU time of training or, where a record has none, its "
                              "time times threads, of one seed of every task"));
  run.record.mutable_pretrain()->set_cpu_seconds(1800);
  EXPECT_THAT(Table({run}), HasSubstr("| 0.750      |"));
  EXPECT_THAT(Table({run}, false, TableFormat::kCsv), HasSubstr(",0.75,,,\n"));
}

TEST(TableCostTest, EnergyIsShownOnlyWhereEveryRunCountedIt) {
  LocatedRecord counted = RunThatTook("linear", 0, 1800), other = RunThatTook("relu", 0, 1800);
  counted.record.mutable_efficiency()->set_joules(45600);
  const std::string text = Table({counted, other});
  EXPECT_THAT(text, HasSubstr("| core-hours | kJ   |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       | 45.6 |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       | -    |"));
  EXPECT_THAT(Table({counted, RunThatTook("linear", 1, 1800)}), Not(HasSubstr("| kJ")));
}

TEST(TableCostTest, ProgramsGetItUnasked) {
  LocatedRecord run = RunThatTook("linear", 0, 1800);
  run.record.mutable_efficiency()->set_joules(45600);
  EXPECT_THAT(Table({run}, false, TableFormat::kCsv), HasSubstr(",1,45600,,\n"));
  EXPECT_THAT(Table({run}, false, TableFormat::kJson), HasSubstr("\"joules\": 45600.0"));
  EXPECT_THAT(Table({run}, false, TableFormat::kHtml), HasSubstr("45.6 kJ"));
}

TEST(TableCostTest, RunsOnADeviceCostDeviceHours) {
  LocatedRecord run = RunThatTook("linear", 0, 1800);
  run.record.mutable_machine()->set_device("NVIDIA H100");
  run.record.mutable_efficiency()->set_cpu_seconds(900);  // of the host
  const std::string text = Table({run});
  EXPECT_THAT(text, HasSubstr("| device-hours |"));
  EXPECT_THAT(text, HasSubstr("| 0.500        |"));
  EXPECT_THAT(text, HasSubstr("Device-hours: time of training times devices"));
  EXPECT_THAT(text, Not(HasSubstr("ore-hours")));
  run.record.mutable_efficiency()->set_processes(8);
  EXPECT_THAT(Table({run}), HasSubstr("| 4.00         |"));
  EXPECT_THAT(Table({run}, false, TableFormat::kCsv), HasSubstr(",,,4,\n"));
  EXPECT_THAT(Table({run}, false, TableFormat::kJson), HasSubstr("\"device_hours\": 4.0"));
  EXPECT_THAT(Table({run}, false, TableFormat::kHtml),
              HasSubstr("data-cost-unit=\"device-hours\""));
}

TEST(TableCostTest, CoresAndDevicesHaveColumnsOfTheirOwn) {
  LocatedRecord device = RunThatTook("linear", 0, 1800);
  device.record.mutable_machine()->set_device("NVIDIA H100");
  const std::string text = Table({device, RunThatTook("relu", 0, 1800)});
  EXPECT_THAT(text, HasSubstr("| core-hours | device-hours |"));
  EXPECT_THAT(text, HasSubstr("| -          | 0.500        |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       | -            |"));
  // A mean over both would be of neither.
  EXPECT_THAT(Table({device, RunThatTook("linear", 1, 1800)}), HasSubstr("| -          |"));
}

TEST(TableCostTest, MissingTasksAreSaid) {
  LocatedRecord image = MakeRun({.method = "linear", .task = "image", .correct = 900});
  EXPECT_THAT(Table({RunThatTook("linear", 0, 1800), image}), HasSubstr("1.00 (1 of 2 tasks)"));
}

}  // namespace
}  // namespace lra
