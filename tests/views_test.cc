// Protocols (lra/) against what the data of each task (datasets/, tasks/) has to be told: a view
// sets every field that says something about its task, and none that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/view.h"
#include "lra/config.h"
#include "tasks/task.h"

namespace lra {
namespace {

std::vector<std::string> SetFieldsOf(const DataView& view) {
  std::vector<std::string> names;
  for (const auto& [path, value] : LeafFields(view)) names.push_back(path);
  return names;
}

// Those that the protocol has rules for.
std::vector<std::string> TasksOf(const std::string& protocol) {
  std::vector<std::string> tasks;
  const auto fragment = LoadFragment("protocols", protocol);
  EXPECT_TRUE(fragment.ok()) << fragment.status();
  for (const auto& [task, part] : fragment->task()) tasks.push_back(task);
  return tasks;
}

TEST(ViewsTest, EveryProtocolSaysEverythingAboutEveryTask) {
  int combinations = 0;
  for (const std::string& protocol : ConfigNames("protocols")) {
    for (const std::string& preset : ConfigNames("presets")) {
      for (const std::string& name : TasksOf(protocol)) {
        const auto view = LoadView(name, protocol, preset, {});
        ASSERT_TRUE(view.ok()) << view.status();
        const auto task = TaskRegistry::Get().Create("task", name, LoadTaskFile(name)->options());
        ASSERT_TRUE(task.ok()) << task.status();
        EXPECT_THAT(SetFieldsOf(*view),
                    testing::UnorderedElementsAreArray(ViewFields((*task)->Spec(), *view)))
            << protocol << ", " << preset << ", " << name;
        ++combinations;
      }
    }
  }
  EXPECT_GE(combinations, 100);
}

// The rule is one that the stored splits can serve, and images are not cut.
TEST(ViewsTest, EveryProtocolsViewCanBeServed) {
  for (const std::string& protocol : ConfigNames("protocols")) {
    for (const std::string& name : TasksOf(protocol)) {
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
