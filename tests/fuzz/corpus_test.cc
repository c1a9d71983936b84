// Replays the fuzz targets without a fuzzer: every committed seed, every beginning of it, and a few
// hundred damaged copies, which are the same ones each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lra/files.h"
#include "lra/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra {
namespace {

constexpr int kDamagedCopies = 300;
constexpr size_t kMaxCuts = 500;

std::vector<std::string> Seeds(const std::string& target) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(LRA_FUZZ_CORPUS "/" + target)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::string& path : paths) seeds.push_back(*ReadFile(path));
  return seeds;
}

// Copies the input to memory of exactly its size, so that a sanitizer sees a read past its end.
void Feed(FuzzFunction target, const std::string& input) {
  const std::vector<char> bytes(input.begin(), input.end());
  target(absl::string_view(bytes.data(), bytes.size()));
}

std::string Damaged(std::string bytes, const std::vector<std::string>& seeds,
                    RandomStream* random) {
  for (int64_t edits = random->Between(1, 4); edits > 0; --edits) {
    const size_t at = random->Below(static_cast<uint32_t>(bytes.size() + 1));
    const std::string& other = seeds[random->Below(static_cast<uint32_t>(seeds.size()))];
    const size_t from = random->Below(static_cast<uint32_t>(other.size() + 1));
    switch (random->Below(4)) {
      case 0:
        bytes.erase(at, 1 + random->Below(8));
        break;
      case 1:
        bytes.insert(at, other, from, random->Below(16));
        break;
      case 2:
        bytes.insert(at, 1, static_cast<char>(random->Below(256)));
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random->Below(256));
    }
  }
  return bytes;
}

class FuzzCorpusTest : public testing::TestWithParam<std::string> {};

TEST_P(FuzzCorpusTest, Holds) {
  const FuzzFunction target = FuzzTargets().at(GetParam());
  const std::vector<std::string> seeds = Seeds(GetParam());
  ASSERT_FALSE(seeds.empty()) << "no seeds in " LRA_FUZZ_CORPUS "/" << GetParam();
  Feed(target, "");
  RandomStream random(1, RandomDomain::kTest, {0, 0, 0});
  for (const std::string& seed : seeds) {
    Feed(target, seed);
    const size_t step = seed.size() / kMaxCuts + 1;
    for (size_t size = 0; size < seed.size(); size += step) Feed(target, seed.substr(0, size));
    for (int i = 0; i < kDamagedCopies; ++i) Feed(target, Damaged(seed, seeds, &random));
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : FuzzTargets()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, FuzzCorpusTest, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// A folder without a target would never be replayed, and a target without a folder has no seeds.
// Without LibTorch some targets are not built, but their sources are there.
TEST(FuzzCorpusFolderTest, HoldsTheTargetsSeedsOnly) {
  constexpr absl::string_view kEnding = "_fuzz.cc";
  const std::filesystem::path corpus = LRA_FUZZ_CORPUS;
  std::vector<std::string> folders, targets;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    folders.push_back(entry.path().filename().string());
  for (const auto& entry : std::filesystem::directory_iterator(corpus.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, kEnding))
      targets.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  EXPECT_EQ(Sorted(folders), Sorted(targets));
  EXPECT_THAT(targets, testing::IsSupersetOf(Names()));
}

}  // namespace
}  // namespace lra
