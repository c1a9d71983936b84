// Every switch of docs/footguns.md trains a step, on random data of its task: what `lra config`
// resolves and `lra train` refuses would reproduce nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tests/random_task_data.h"
#include "train/trainer.h"

namespace lra {
namespace {

// "--task image --set a=b" as `lra train` understands it, made small.
ExperimentChoice ChoiceOf(absl::string_view flags) {
  ExperimentChoice choice;
  choice.attention = "transformer";
  choice.preset = "smoke";
  const std::vector<std::string> words = absl::StrSplit(flags, ' ');
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--task") choice.task = words[i + 1];
    if (words[i] == "--attention") choice.attention = words[i + 1];
    if (words[i] == "--protocol") choice.protocol = words[i + 1];
    if (words[i] == "--set") choice.sets.push_back(words[i + 1]);
  }
  for (const char* set : {"train.steps=1", "train.batch_examples=4", "train.eval_every_steps=1"})
    choice.sets.emplace_back(set);
  return choice;
}

std::vector<std::string> Switches() {
  std::vector<std::string> switches;
  const auto page = ReadFile(LRA_FOOTGUNS_PAGE);
  EXPECT_TRUE(page.ok()) << page.status();
  for (absl::string_view line : absl::StrSplit(page.value_or(""), '\n')) {
    if (!absl::ConsumePrefix(&line, "* Switch: `")) continue;
    switches.emplace_back(line.substr(0, line.find('`')));
  }
  return switches;
}

TEST(FootgunsTest, EverySwitchTrains) {
  const TestFolder folder;
  const std::vector<std::string> switches = Switches();
  EXPECT_GE(switches.size(), 10);
  for (size_t i = 0; i < switches.size(); ++i) {
    SCOPED_TRACE(switches[i]);
    const auto resolved = ResolveExperiment(ChoiceOf(switches[i]));
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    const std::string& task = resolved->config.task();
    const std::string data = folder.File(task);
    if (!FileExists(data)) WriteRandomTask(task, data);
    TrainRequest request;
    request.resolved = *resolved;
    request.runtime.set_quiet(true);
    request.runtime.set_threads(1);
    request.runtime.set_data_dir(data);
    request.runtime.set_out_dir(folder.File(absl::StrCat("run", i)));
    const absl::Status status = TrainRun(request).status();
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace lra
