// Compares the protocols (lra/) with what the data of each task (datasets/, tasks/) needs: a view
// sets every field that applies to its task, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/view.h"
#include "lra/config.h"
#include "lra/task_files.h"
#include "tasks/task.h"

namespace lra {
namespace {

std::vector<std::string> SetFieldsOf(const DataView& view) {
  std::vector<std::string> names;
  for (const auto& [path, value] : LeafFields(view)) names.push_back(path);
  return names;
}

TEST(ViewsTest, EveryProtocolSaysEverythingAboutEveryTask) {
  int combinations = 0;
  for (const std::string& name : ConfigNames("tasks")) {
    const auto task = TaskRegistry::Get().Create("task", name, LoadTaskFile(name)->options());
    ASSERT_TRUE(task.ok()) << task.status();
    const std::vector<std::string> presets = NamesForTask("presets", name).value();
    const std::vector<std::string> protocols = NamesForTask("protocols", name).value();
    for (const std::string& protocol : protocols) {
      for (const std::string& preset : presets) {
        const auto view = LoadView(name, protocol, preset, {});
        ASSERT_TRUE(view.ok()) << view.status();
        EXPECT_THAT(SetFieldsOf(*view),
                    testing::UnorderedElementsAreArray(ViewFields((*task)->Spec(), *view)))
            << protocol << ", " << preset << ", " << name;
        ++combinations;
      }
    }
  }
  EXPECT_GE(combinations, 100);
}

// The stored splits allow the rule, and images are not cut.
TEST(ViewsTest, EveryProtocolsViewCanBeServed) {
  for (const std::string& name : ConfigNames("tasks")) {
    const std::vector<std::string> protocols = NamesForTask("protocols", name).value();
    for (const std::string& protocol : protocols) {
      const auto task = TaskRegistry::Get().Create("task", name, LoadTaskFile(name)->options());
      ASSERT_TRUE(task.ok()) << task.status();
      Manifest manifest;
      *manifest.mutable_spec() = (*task)->Spec();
      for (const SplitSize& split : (*task)->Splits()) manifest.add_splits()->set_name(split.name);
      const auto view = LoadView(name, protocol, "small", {});
      ASSERT_TRUE(view.ok()) << view.status();
      const auto resolved = ResolveView(manifest, *view);
      EXPECT_TRUE(resolved.ok()) << name << ": " << resolved.status();
    }
  }
}

}  // namespace
}  // namespace lra
