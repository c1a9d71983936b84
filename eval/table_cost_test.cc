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
  // 1,800 seconds on two threads.
  const std::string text = Table({MakeBaseline("majority", 340), RunThatTook("linear", 0, 1800)});
  EXPECT_THAT(text, HasSubstr("| core-hours |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       |"));
  EXPECT_THAT(text, HasSubstr("Core-hours: wall time of training times threads"));
  EXPECT_THAT(text, HasSubstr("wall times are no measure of a method"));
  EXPECT_THAT(text, Not(HasSubstr("How many times as much")));
  EXPECT_THAT(text, Not(HasSubstr("kJ")));
}

// What else a machine does only adds to a run's time.
TEST(TableCostTest, ARowsHoursAreThoseOfItsFastestRun) {
  const std::vector<LocatedRecord> runs = {
      RunThatTook("linear", 0, 5400), RunThatTook("linear", 1, 1800), RunThatTook("relu", 0, 1800),
      RunThatTook("relu", 1, 2250)};
  const std::string text = Table(runs);
  EXPECT_THAT(text, HasSubstr("| 1.00       |"));
  EXPECT_THAT(text, Not(HasSubstr("| 2.00       |")));
  // Those of relu are apart by 1.25 and not by more.
  const std::string note =
      "How many times as much as its fastest run a cell's slowest used, where more than 1.25: "
      "listops: linear 3.0.";
  EXPECT_THAT(text, HasSubstr("- " + note + "\n"));
  EXPECT_THAT(Table(runs, false), Not(HasSubstr("How many times as much")));
  EXPECT_THAT(Table(runs, true, TableFormat::kLatex), HasSubstr("linear 3.0."));
  // Programs and pages have the costs unasked.
  EXPECT_THAT(Table(runs, false, TableFormat::kHtml), HasSubstr("linear 3.0.</li>"));
  EXPECT_THAT(Table(runs, false, TableFormat::kJson), HasSubstr("\"slowest_over_fastest\": 3.0"));
}

TEST(TableCostTest, UnevenTimesAreToldTaskByTask) {
  const auto on_image = [](uint32_t seed, double seconds) {
    LocatedRecord run = MakeRun({.task = "image", .seed = seed, .correct = 900});
    run.record.mutable_efficiency()->set_wall_seconds(seconds);
    return run;
  };
  EXPECT_THAT(Table({RunThatTook("linear", 0, 1000), RunThatTook("linear", 1, 1300),
                     on_image(0, 54), on_image(1, 939)}),
              HasSubstr("more than 1.25: listops: linear 1.3; image: linear 17.\n"));
}

// A run that an early stop or a failure ended took fewer steps, not less for each.
TEST(TableCostTest, OnlyRunsThatMadeTheMostStepsSayWhatACellTakes) {
  LocatedRecord stopped = RunThatTook("linear", 0, 900), failed = RunThatTook("linear", 1, 600);
  stopped.record.set_stopped_at_step(40);
  failed.record.clear_results();
  failed.record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  failed.record.mutable_failure()->set_step(30);
  EXPECT_THAT(Table({stopped, failed, RunThatTook("linear", 2, 1800)}),
              HasSubstr("| 1.00       |"));
  EXPECT_THAT(Table({stopped, failed}), HasSubstr("| 0.500      |"));
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
  EXPECT_THAT(text, HasSubstr("Core-hours: CPU time of training or, where a record has none, wall "
                              "time times threads, of one seed of every task"));
  run.record.mutable_pretrain()->set_cpu_seconds(1800);
  EXPECT_THAT(Table({run}), HasSubstr("| 0.750      |"));
  EXPECT_THAT(Table({run}, false, TableFormat::kCsv), HasSubstr(",0.75,,,\n"));
}

// A suite that an older build began: its own runs have no CPU time.
TEST(TableCostTest, CpuTimeIsNotComparedWithWallTimeTimesThreads) {
  LocatedRecord counted = RunThatTook("linear", 1, 1800), slower = RunThatTook("linear", 2, 1800);
  counted.record.mutable_efficiency()->set_cpu_seconds(1800);
  slower.record.mutable_efficiency()->set_cpu_seconds(1980);
  // The older run has an hour.
  std::vector<LocatedRecord> runs = {RunThatTook("linear", 0, 1800), counted, slower};
  EXPECT_THAT(Table(runs), HasSubstr("| 0.500      |"));
  EXPECT_THAT(Table(runs), Not(HasSubstr("How many times as much")));
  const std::string json = Table(runs, false, TableFormat::kJson);
  EXPECT_THAT(json, HasSubstr("\"core_hours\": 0.5,"));
  EXPECT_THAT(json, HasSubstr("\"is_cpu_time\": true"));
  EXPECT_THAT(json, HasSubstr("\"slowest_over_fastest\": 1.1"));
  // Nor does an older run count that was faster by the clock.
  runs[0] = RunThatTook("linear", 0, 600);
  EXPECT_THAT(Table(runs), HasSubstr("| 0.500      |"));
  EXPECT_THAT(Table({runs[0]}, false, TableFormat::kJson), HasSubstr("\"is_cpu_time\": false"));
  // Whatever made fewer steps is left out first.
  counted.record.set_stopped_at_step(40);
  EXPECT_THAT(Table({RunThatTook("linear", 0, 1800), counted}), HasSubstr("| 1.00       |"));
}

TEST(TableCostTest, EnergyIsThatOfTheFastestRun) {
  LocatedRecord counted = RunThatTook("linear", 0, 1800), other = RunThatTook("relu", 0, 1800);
  counted.record.mutable_efficiency()->set_joules(45600);
  const std::string text = Table({counted, other});
  EXPECT_THAT(text, HasSubstr("| core-hours | kJ   |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       | 45.6 |"));
  EXPECT_THAT(text, HasSubstr("| 1.00       | -    |"));
  EXPECT_THAT(Table({counted, RunThatTook("linear", 1, 1900)}), HasSubstr("| 1.00       | 45.6 |"));
  EXPECT_THAT(Table({counted, RunThatTook("linear", 1, 1700)}), Not(HasSubstr("| kJ")));
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
  EXPECT_THAT(text, HasSubstr("Device-hours: wall time of training times devices"));
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
  // Their hours are not alike.
  EXPECT_THAT(Table({device, RunThatTook("linear", 1, 1800)}), HasSubstr("| -          |"));
}

TEST(TableCostTest, MissingTasksAreSaid) {
  LocatedRecord image = MakeRun({.method = "linear", .task = "image", .correct = 900});
  EXPECT_THAT(Table({RunThatTook("linear", 0, 1800), image}), HasSubstr("1.00 (1 of 2 tasks)"));
}

}  // namespace
}  // namespace lra
