#include "lra/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

using testing::ElementsAre;

struct Animal {
  virtual ~Animal() = default;
  virtual std::string Speak() const = 0;
};
struct Dog : Animal {
  explicit Dog(int times) : times(times) {}
  std::string Speak() const override { return absl::StrCat("woof x", times); }
  int times;
};
using AnimalRegistry = Registry<Animal, int>;

absl::StatusOr<std::unique_ptr<Animal>> MakeDog(int times) {
  if (times < 0) return absl::InvalidArgumentError("a dog cannot bark less than never");
  return std::make_unique<Dog>(times);
}

LRA_REGISTER(AnimalRegistry, "dog", MakeDog);
LRA_REGISTER(AnimalRegistry, "cat", MakeDog);

TEST(RegistryTest, CreatesByName) {
  const auto dog = AnimalRegistry::Get().Create("animal", "dog", 3);
  ASSERT_TRUE(dog.ok()) << dog.status();
  EXPECT_EQ((*dog)->Speak(), "woof x3");
}

TEST(RegistryTest, PassesTheFactorysErrorOn) {
  EXPECT_EQ(AnimalRegistry::Get().Create("animal", "dog", -1).status().message(),
            "a dog cannot bark less than never");
}

TEST(RegistryTest, NamesAreSorted) {
  EXPECT_THAT(AnimalRegistry::Get().Names(), ElementsAre("cat", "dog"));
  EXPECT_TRUE(AnimalRegistry::Get().Has("dog"));
  EXPECT_FALSE(AnimalRegistry::Get().Has("dig"));
}

TEST(RegistryTest, AnUnknownNameGetsTheNearestAndTheKnown) {
  const absl::Status status = AnimalRegistry::Get().Create("animal", "dgo", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown animal \"dgo\"; did you mean \"dog\"? Known: cat, dog");
}

TEST(RegistryDeathTest, ADuplicateAbortsNamingBothPlaces) {
  Registry<Animal, int, int> registry;
  const auto factory = [](int times, int) { return MakeDog(times); };
  registry.Register("dog", factory, "first.cc:12");
  EXPECT_DEATH(registry.Register("dog", factory, "second.cc:34"),
               "\"dog\" is registered at first.cc:12 and at second.cc:34");
}

}  // namespace
}  // namespace lra
