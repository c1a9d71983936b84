// Every run of every suite of the project can be trained: its configuration makes a model for its
// task, whatever the data.
#include <gtest/gtest.h>

#include <string>

#include "lra/config.h"
#include "suite/cells.h"
#include "suite/suite_file.h"
#include "tasks/task_facts.h"
#include "train/trainable.h"

namespace lra {
namespace {

TEST(SuitesTest, EveryRunMakesAModel) {
  for (const std::string& name : ConfigNames("suites")) {
    const auto suite = LoadSuite(name);
    ASSERT_TRUE(suite.ok()) << suite.status();
    const auto cells = ExpandSuite(*suite);
    ASSERT_TRUE(cells.ok()) << name << ": " << cells.status();
    for (const SuiteCell& cell : *cells) {
      if (cell.seed != cells->front().seed) break;  // other seeds follow, and change no shape
      const auto manifest = ManifestWithoutData(cell.config.task());
      ASSERT_TRUE(manifest.ok()) << manifest.status();
      TrainRequest request;
      request.resolved.config = cell.config;
      const absl::Status trainable = CheckTrainable(request, *manifest);
      EXPECT_TRUE(trainable.ok()) << name << ", " << cell.name << ": " << trainable;
    }
  }
}

}  // namespace
}  // namespace lra
