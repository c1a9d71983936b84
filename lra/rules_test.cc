// What the protocols and presets of configs/ say, pinned.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

// A line "protocols/fair@1 listops HASH" for each task that the fragment's file names, and one
// without a task for what it says about every one. What it says under single protocols and about
// single methods has lines of its own: "presets/small@2 under fair HASH".
std::set<std::string> RulesOf(absl::string_view kind, const ConfigFragment& fragment) {
  const std::string name = absl::StrCat(kind, "/", fragment.name(), "@", fragment.version());
  const auto line = [&](absl::string_view task, const ExperimentConfig& rules) {
    return absl::StrCat(name, task, " ", Fingerprint(rules).substr(0, 12), "\n");
  };
  std::set<std::string> lines = {line("", fragment.base())};
  for (const auto& [task, part] : fragment.task()) {
    ExperimentConfig rules = fragment.base();
    MergeConfig(part, &rules);
    lines.insert(line(absl::StrCat(" ", task), rules));
  }
  for (const auto& [key, part] : fragment.protocol())
    lines.insert(line(absl::StrCat(" under ", key), part));
  for (const auto& [key, part] : fragment.method())
    lines.insert(line(absl::StrCat(" ", key), part));
  return lines;
}

constexpr char kPinned[] = R"(
presets/lra2020@1 ef4ca5319057
presets/lra2020@1 image 300c63fa80bc
presets/lra2020@1 listops 86093550f0b5
presets/lra2020@1 pathfinder256 c338300904df
presets/lra2020@1 pathfinder32 432bea6a5476
presets/lra2020@1 pathfinder64 c6b0a3706171
presets/lra2020@1 pathx 898454bd395f
presets/lra2020@1 retrieval f17454e6c984
presets/lra2020@1 text eeff0b4f85cd
presets/lra2020_paper@1 ef4ca5319057
presets/lra2020_paper@1 image 66990ba93e82
presets/lra2020_paper@1 listops 50034588ab1f
presets/lra2020_paper@1 pathfinder256 c338300904df
presets/lra2020_paper@1 pathfinder32 7f8bd7fef9cf
presets/lra2020_paper@1 pathfinder64 c6b0a3706171
presets/lra2020_paper@1 pathx c36ca11cd6c3
presets/lra2020_paper@1 retrieval f17454e6c984
presets/lra2020_paper@1 text 093c160addd3
presets/small@1 a07cfdbd23b8
presets/small@1 listops ccb7ffc4ceea
presets/smoke@2 f9b1a777e459
presets/smoke@2 listops f6666c986a24
presets/smoke@2 retrieval d01d78c4f68b
presets/smoke@2 text d01d78c4f68b
protocols/fair@1 dcd8196dc3b7
protocols/fair@1 image aa4253036b49
protocols/fair@1 listops a314cc0a69ab
protocols/fair@1 pathfinder256 282fca95bbba
protocols/fair@1 pathfinder32 3f2aca7eb851
protocols/fair@1 pathfinder64 2db12c41d236
protocols/fair@1 pathx b2ec7421f4e0
protocols/fair@1 retrieval 4b0ff68b1bcd
protocols/fair@1 text ba0aed54cbdc
protocols/lra2020@1 4dcac30e11a3
protocols/lra2020@1 image 80a2d132aba7
protocols/lra2020@1 listops 509c9d2263dc
protocols/lra2020@1 pathfinder256 d9fd3e8932c9
protocols/lra2020@1 pathfinder32 c50a3a0bb7aa
protocols/lra2020@1 pathfinder64 5adffcba9c94
protocols/lra2020@1 pathx bc9d9c702406
protocols/lra2020@1 retrieval c8dbecc9668c
protocols/lra2020@1 text 5d3bef20eb1d
protocols/lra2020_paper@1 acc5d0b838ac
protocols/lra2020_paper@1 image 2ebb337ec89e
protocols/lra2020_paper@1 listops e3e5825634e5
protocols/lra2020_paper@1 pathfinder256 886fa9f13b79
protocols/lra2020_paper@1 pathfinder32 ae62ae75675b
protocols/lra2020_paper@1 pathfinder64 fbb0820f6241
protocols/lra2020_paper@1 pathx 99af5af0abb0
protocols/lra2020_paper@1 retrieval 1d2ba4ca514a
protocols/lra2020_paper@1 text 924e5ab66984
protocols/nystrom@1 e536a4be790b
protocols/nystrom@1 image e82aa20cf275
protocols/nystrom@1 listops 6dac0e44ed14
protocols/nystrom@1 pathfinder32 fa6d162e2eac
protocols/nystrom@1 retrieval 386b8f83814d
protocols/nystrom@1 text c834ea637aa0
protocols/s4@1 8d197f961c99
protocols/s4@1 image a8735e83a752
protocols/s4@1 listops be9896cdc2d9
protocols/s4@1 pathfinder32 b803280ad403
protocols/s4@1 pathx 597e718836a0
protocols/s4@1 retrieval aae31b56e8e3
protocols/s4@1 text a6765dbb686d
)";

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

TEST(RulesTest, RunsUnderFairStayComparableWithThoseOnRecord) {
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

// Numbers of one version belong together: rules that change get a new one, and new lines here. A
// task that brings its own rules needs neither.
TEST(RulesTest, RulesChangeWithTheirVersionOnly) {
  std::set<std::string> found;
  for (const char* kind : {"presets", "protocols"}) {
    for (const std::string& name : ConfigNames(kind)) {
      const auto fragment = LoadFragment(kind, name);
      ASSERT_TRUE(fragment.ok()) << fragment.status();
      found.merge(RulesOf(kind, *fragment));
    }
  }
  EXPECT_EQ(absl::StrCat("\n", absl::StrJoin(found, "")), kPinned);
}

}  // namespace
}  // namespace lra
