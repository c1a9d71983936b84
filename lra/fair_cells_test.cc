// Runs under protocol fair, pinned.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

// "PRESET TASK ATTENTION HASH": runs under `fair`, which most records are. They stay comparable
// with every run on record as long as these hashes stay, whatever happens to the presets' files.
constexpr char kFairCells[] = R"(
small listops transformer 406fcdf457c2
small listops s4d 4284eec73226
small text transformer 6126aaeab556
small text s4d eeb5df2b146c
small retrieval transformer e15a1c8e72bd
small retrieval s4d 60adeb2a0006
small image transformer 0aaf0d398da2
small image s4d 77d58c8ff736
small pathfinder32 transformer dc7c586fac0a
small pathfinder32 s4d 6585d1c0c40b
small pathfinder64 transformer f9e815c5546c
small pathfinder64 s4d c0eb6b915413
small pathx transformer 3adc753bdeb6
small pathx s4d c5cc0c9d4673
small pathfinder256 transformer 3f8f31f2eaf1
small pathfinder256 s4d 4673f96cc023
smoke listops transformer 2de8f342c65b
smoke listops s4d 2568a77120ca
smoke text transformer ededff13773a
smoke text s4d 75efb636a0a0
smoke retrieval transformer 9279789e6f0e
smoke retrieval s4d b4cfc1b6afa0
smoke image transformer 9516a26ca24d
smoke image s4d 95aab2ee15ad
smoke pathfinder32 transformer 6ffa0f24729a
smoke pathfinder32 s4d 903ecf5c934d
smoke pathfinder64 transformer 4630200b5666
smoke pathfinder64 s4d 19063f4a883c
smoke pathx transformer 296d9f66d76b
smoke pathx s4d de19f8151c11
smoke pathfinder256 transformer 87e71c1d959c
smoke pathfinder256 s4d 07394493ac85
)";

TEST(FairCellsTest, RunsUnderFairStayComparableWithThoseOnRecord) {
  std::string found = "\n";
  for (const absl::string_view line : absl::StrSplit(kFairCells, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const auto resolved =
        ResolveExperiment({.task = words[1], .attention = words[2], .preset = words[0]});
    ASSERT_TRUE(resolved.ok()) << line << ": " << resolved.status();
    absl::StrAppend(&found, words[0], " ", words[1], " ", words[2], " ",
                    CellFingerprint(resolved->config).substr(0, 12), "\n");
  }
  EXPECT_EQ(found, kFairCells);
}

}  // namespace
}  // namespace lra
