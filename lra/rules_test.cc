// What the protocols and presets of configs/ say, pinned.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
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
presets/lra2020@2 ef4ca5319057
presets/lra2020@2 image 7fc0c0f17cdd
presets/lra2020@2 listops f955534b4950
presets/lra2020@2 lra2020:image/bigbird 0310e676e6b8
presets/lra2020@2 lra2020:image/local 93741dccc8f4
presets/lra2020@2 lra2020:image/longformer e83594bb5741
presets/lra2020@2 lra2020:image/reformer 0ae886e92c8e
presets/lra2020@2 lra2020:image/sinkhorn b28e55f31940
presets/lra2020@2 lra2020:pathfinder32/bigbird 4ac3d0d42d43
presets/lra2020@2 lra2020:pathfinder32/linear 93741dccc8f4
presets/lra2020@2 lra2020:pathfinder32/linformer 820a9aff8524
presets/lra2020@2 lra2020:pathfinder32/local dade42160102
presets/lra2020@2 lra2020:pathfinder32/longformer 4f407f34f471
presets/lra2020@2 lra2020:pathfinder32/performer f085b905da36
presets/lra2020@2 lra2020:pathfinder32/reformer 19d4e61943e0
presets/lra2020@2 lra2020:pathfinder32/sinkhorn df335ebc9609
presets/lra2020@2 lra2020:pathfinder32/sparse bd41abcaf0ca
presets/lra2020@2 lra2020:pathfinder32/synthesizer dade42160102
presets/lra2020@2 pathfinder256 23309c447490
presets/lra2020@2 pathfinder32 77195dc0a438
presets/lra2020@2 pathfinder64 23309c447490
presets/lra2020@2 pathx 820a9aff8524
presets/lra2020@2 retrieval 6096f7959ec6
presets/lra2020@2 text 2ecaa0c5a562
presets/lra2020_paper@2 ef4ca5319057
presets/lra2020_paper@2 image b68c673556a7
presets/lra2020_paper@2 listops 6b3836315a0d
presets/lra2020_paper@2 pathfinder256 23309c447490
presets/lra2020_paper@2 pathfinder32 cd8b178e72ab
presets/lra2020_paper@2 pathfinder64 23309c447490
presets/lra2020_paper@2 pathx cd8b178e72ab
presets/lra2020_paper@2 retrieval 6096f7959ec6
presets/lra2020_paper@2 text 6b3836315a0d
presets/nystrom@1 ff60d0151101
presets/s4@1 */s4d b393738784a3
presets/s4@1 22dbb29608c7
presets/s4@1 image 37dceb738070
presets/s4@1 listops/s4d a4b2683a05ce
presets/s4@1 retrieval/s4d a4b2683a05ce
presets/s4@1 text/s4d a4b2683a05ce
presets/small@3 2474e1e607c1
presets/small@3 under fair 9a1357d43d8a
presets/small@3 under fair:listops 27b135a39079
presets/small@3 under fair:near_majority 021742064e56
presets/small@3 under strong 6a4d13babfc8
presets/small@3 under strong:image 2803da12cac4
presets/small@3 under strong:listops 16bdb45134b5
presets/small@3 under strong:near_majority d8b326c2affd
presets/small@3 under strong:pathfinder32 8317163ded1a
presets/small@3 under strong:text a44d5013a991
presets/smoke@3 f9b1a777e459
presets/smoke@3 listops f6666c986a24
presets/smoke@3 retrieval d01d78c4f68b
presets/smoke@3 text d01d78c4f68b
presets/smoke@3 under fair 3859744a5437
presets/smoke@3 under lra2020 2cc361fc0dcd
presets/smoke@3 under lra2020_paper 2cc361fc0dcd
presets/smoke@3 under nystrom 2cc361fc0dcd
protocols/fair@1 dcd8196dc3b7
protocols/fair@1 image aa4253036b49
protocols/fair@1 listops a314cc0a69ab
protocols/fair@1 pathfinder256 282fca95bbba
protocols/fair@1 pathfinder32 3f2aca7eb851
protocols/fair@1 pathfinder64 2db12c41d236
protocols/fair@1 pathx b2ec7421f4e0
protocols/fair@1 retrieval 4b0ff68b1bcd
protocols/fair@1 text ba0aed54cbdc
protocols/lra2020@1 */bigbird 43f38229c514
protocols/lra2020@1 */cosformer 43f38229c514
protocols/lra2020@1 */cottention 43f38229c514
protocols/lra2020@1 */factorized 43f38229c514
protocols/lra2020@1 */fnet 43f38229c514
protocols/lra2020@1 */identity 43f38229c514
protocols/lra2020@1 */leaky_relu 43f38229c514
protocols/lra2020@1 */linear 43f38229c514
protocols/lra2020@1 */linformer 10de84fec487
protocols/lra2020@1 */local 648fafd473c4
protocols/lra2020@1 */longformer dce9dd5c2bdd
protocols/lra2020@1 */nystromformer 43f38229c514
protocols/lra2020@1 */performer d486365ac9ad
protocols/lra2020@1 */reformer 7f5af20b0c80
protocols/lra2020@1 */relu 43f38229c514
protocols/lra2020@1 */rfa 43f38229c514
protocols/lra2020@1 */s4d 43f38229c514
protocols/lra2020@1 */sinkhorn 30d80dd9251b
protocols/lra2020@1 */sparse bea0b9aec227
protocols/lra2020@1 */synthesizer b49e3b3f647e
protocols/lra2020@1 4dcac30e11a3
protocols/lra2020@1 image 80a2d132aba7
protocols/lra2020@1 image/local 5867a51bf874
protocols/lra2020@1 image/longformer 0e8ca6eb4d4f
protocols/lra2020@1 image/reformer 41a8bc13ed50
protocols/lra2020@1 image/sinkhorn f82ed515284f
protocols/lra2020@1 listops 509c9d2263dc
protocols/lra2020@1 listops/performer 4a10acdbac52
protocols/lra2020@1 listops/reformer 76b2f1895c4d
protocols/lra2020@1 pathfinder256 d9fd3e8932c9
protocols/lra2020@1 pathfinder32 c50a3a0bb7aa
protocols/lra2020@1 pathfinder32/local 7c259820f752
protocols/lra2020@1 pathfinder32/longformer 73e4bb9fbb0d
protocols/lra2020@1 pathfinder32/reformer 41a8bc13ed50
protocols/lra2020@1 pathfinder32/sinkhorn 0bc813f881ce
protocols/lra2020@1 pathfinder64 5adffcba9c94
protocols/lra2020@1 pathx bc9d9c702406
protocols/lra2020@1 retrieval c8dbecc9668c
protocols/lra2020@1 retrieval/reformer 5354ac0d8980
protocols/lra2020@1 text 5d3bef20eb1d
protocols/lra2020@1 text/reformer 62eb57759fb5
protocols/lra2020_paper@2 */bigbird 43f38229c514
protocols/lra2020_paper@2 */cosformer 43f38229c514
protocols/lra2020_paper@2 */cottention 43f38229c514
protocols/lra2020_paper@2 */factorized 43f38229c514
protocols/lra2020_paper@2 */fnet 43f38229c514
protocols/lra2020_paper@2 */identity 43f38229c514
protocols/lra2020_paper@2 */leaky_relu 43f38229c514
protocols/lra2020_paper@2 */linear 43f38229c514
protocols/lra2020_paper@2 */linformer 10de84fec487
protocols/lra2020_paper@2 */local 648fafd473c4
protocols/lra2020_paper@2 */longformer dce9dd5c2bdd
protocols/lra2020_paper@2 */nystromformer 43f38229c514
protocols/lra2020_paper@2 */performer e186d270007e
protocols/lra2020_paper@2 */reformer 7f5af20b0c80
protocols/lra2020_paper@2 */relu 43f38229c514
protocols/lra2020_paper@2 */rfa 43f38229c514
protocols/lra2020_paper@2 */s4d 43f38229c514
protocols/lra2020_paper@2 */sinkhorn 30d80dd9251b
protocols/lra2020_paper@2 */sparse bea0b9aec227
protocols/lra2020_paper@2 */synthesizer b49e3b3f647e
protocols/lra2020_paper@2 acc5d0b838ac
protocols/lra2020_paper@2 image 2ebb337ec89e
protocols/lra2020_paper@2 image/local 5867a51bf874
protocols/lra2020_paper@2 image/longformer 0e8ca6eb4d4f
protocols/lra2020_paper@2 image/reformer 41a8bc13ed50
protocols/lra2020_paper@2 image/sinkhorn f82ed515284f
protocols/lra2020_paper@2 listops 399b110e7d57
protocols/lra2020_paper@2 listops/performer 70e1f1c438ee
protocols/lra2020_paper@2 listops/reformer 76b2f1895c4d
protocols/lra2020_paper@2 pathfinder256 886fa9f13b79
protocols/lra2020_paper@2 pathfinder32 ae62ae75675b
protocols/lra2020_paper@2 pathfinder32/local 7c259820f752
protocols/lra2020_paper@2 pathfinder32/longformer 73e4bb9fbb0d
protocols/lra2020_paper@2 pathfinder32/reformer 41a8bc13ed50
protocols/lra2020_paper@2 pathfinder32/sinkhorn 0bc813f881ce
protocols/lra2020_paper@2 pathfinder64 fbb0820f6241
protocols/lra2020_paper@2 pathx 99af5af0abb0
protocols/lra2020_paper@2 retrieval 1d2ba4ca514a
protocols/lra2020_paper@2 retrieval/reformer 5354ac0d8980
protocols/lra2020_paper@2 text 924e5ab66984
protocols/lra2020_paper@2 text/reformer 5354ac0d8980
protocols/nystrom@3 */cosformer 43f38229c514
protocols/nystrom@3 */cottention 43f38229c514
protocols/nystrom@3 */factorized 43f38229c514
protocols/nystrom@3 */fnet 43f38229c514
protocols/nystrom@3 */identity 43f38229c514
protocols/nystrom@3 */leaky_relu 43f38229c514
protocols/nystrom@3 */linear 43f38229c514
protocols/nystrom@3 */linformer f714400c7e3a
protocols/nystrom@3 */nystromformer 232f228b2a48
protocols/nystrom@3 */performer 875ff98f17bb
protocols/nystrom@3 */reformer 9857208c3274
protocols/nystrom@3 */relu 43f38229c514
protocols/nystrom@3 */rfa 43f38229c514
protocols/nystrom@3 */s4d 43f38229c514
protocols/nystrom@3 */sinkhorn 43f38229c514
protocols/nystrom@3 db5042a2c5a1
protocols/nystrom@3 image b8145a7e80e4
protocols/nystrom@3 listops 62387f1f7195
protocols/nystrom@3 pathfinder32 2ec5219fe758
protocols/nystrom@3 retrieval 90ff97306cd4
protocols/nystrom@3 text 893697a23c5e
protocols/nystrom@4 */cosformer 43f38229c514
protocols/nystrom@4 */cottention 43f38229c514
protocols/nystrom@4 */factorized 43f38229c514
protocols/nystrom@4 */fnet 43f38229c514
protocols/nystrom@4 */identity 43f38229c514
protocols/nystrom@4 */leaky_relu 43f38229c514
protocols/nystrom@4 */linear 43f38229c514
protocols/nystrom@4 */linformer f714400c7e3a
protocols/nystrom@4 */nystromformer 232f228b2a48
protocols/nystrom@4 */performer 875ff98f17bb
protocols/nystrom@4 */reformer 9857208c3274
protocols/nystrom@4 */relu 43f38229c514
protocols/nystrom@4 */rfa 43f38229c514
protocols/nystrom@4 */s4d 43f38229c514
protocols/nystrom@4 */sinkhorn 43f38229c514
protocols/nystrom@4 db5042a2c5a1
protocols/nystrom@4 image b8145a7e80e4
protocols/nystrom@4 listops 7620d531a374
protocols/nystrom@4 pathfinder32 2ec5219fe758
protocols/nystrom@4 retrieval 90ff97306cd4
protocols/nystrom@4 text 893697a23c5e
protocols/nystrom@5 */cosformer 43f38229c514
protocols/nystrom@5 */cottention 43f38229c514
protocols/nystrom@5 */factorized 43f38229c514
protocols/nystrom@5 */fnet 43f38229c514
protocols/nystrom@5 */identity 43f38229c514
protocols/nystrom@5 */leaky_relu 43f38229c514
protocols/nystrom@5 */linear 43f38229c514
protocols/nystrom@5 */linformer f714400c7e3a
protocols/nystrom@5 */nystromformer 232f228b2a48
protocols/nystrom@5 */performer 875ff98f17bb
protocols/nystrom@5 */reformer 9857208c3274
protocols/nystrom@5 */relu 43f38229c514
protocols/nystrom@5 */rfa 43f38229c514
protocols/nystrom@5 */s4d 43f38229c514
protocols/nystrom@5 */sinkhorn 43f38229c514
protocols/nystrom@5 db5042a2c5a1
protocols/nystrom@5 image b8145a7e80e4
protocols/nystrom@5 listops 7620d531a374
protocols/nystrom@5 pathfinder32 2ec5219fe758
protocols/nystrom@5 retrieval 90ff97306cd4
protocols/nystrom@5 text 82be0e00103b
protocols/s4@4 */s4d aed85c8910c4
protocols/s4@4 5e6d46c3e73b
protocols/s4@4 image 2373017a25f1
protocols/s4@4 listops 7c0d5fb0496a
protocols/s4@4 pathfinder32 8204fc4ceaa5
protocols/s4@4 pathfinder32/s4d 6a40e66f2a83
protocols/s4@4 pathx 35a3990e0b14
protocols/s4@4 pathx/s4d ce9d501f152d
protocols/s4@4 retrieval 1b69796c5fb6
protocols/s4@4 text 48b9312923cc
protocols/strong@1 */none ef4ca5319057
protocols/strong@1 dbd54d308b6a
protocols/strong@1 image 5eab15a8dcfc
protocols/strong@1 listops 984a36bbffad
protocols/strong@1 listops/fnet cee4a6ee30dd
protocols/strong@1 listops/longformer cee4a6ee30dd
protocols/strong@1 listops/no_mixing cee4a6ee30dd
protocols/strong@1 listops/none cee4a6ee30dd
protocols/strong@1 listops/s4d cee4a6ee30dd
protocols/strong@1 pathfinder256 994d7a8f32aa
protocols/strong@1 pathfinder32 87fd24f85afa
protocols/strong@1 pathfinder64 d8fb5704f4b6
protocols/strong@1 pathx abe57358deff
protocols/strong@1 retrieval 19c35ddfdb27
protocols/strong@1 retrieval/fnet cee4a6ee30dd
protocols/strong@1 retrieval/longformer cee4a6ee30dd
protocols/strong@1 retrieval/no_mixing cee4a6ee30dd
protocols/strong@1 retrieval/none cee4a6ee30dd
protocols/strong@1 retrieval/s4d cee4a6ee30dd
protocols/strong@1 review_halves/fnet cee4a6ee30dd
protocols/strong@1 review_halves/longformer cee4a6ee30dd
protocols/strong@1 review_halves/no_mixing cee4a6ee30dd
protocols/strong@1 review_halves/none cee4a6ee30dd
protocols/strong@1 review_halves/s4d cee4a6ee30dd
protocols/strong@1 text a34d117b5e40
protocols/strong@1 text/fnet cee4a6ee30dd
protocols/strong@1 text/longformer cee4a6ee30dd
protocols/strong@1 text/no_mixing cee4a6ee30dd
protocols/strong@1 text/none cee4a6ee30dd
protocols/strong@1 text/s4d cee4a6ee30dd
protocols/strong@2 */none ef4ca5319057
protocols/strong@2 34a1abf784a1
protocols/strong@2 image 7b596378c297
protocols/strong@2 listops a3b0373ee6eb
protocols/strong@2 listops/fnet cee4a6ee30dd
protocols/strong@2 listops/longformer cee4a6ee30dd
protocols/strong@2 listops/no_mixing cee4a6ee30dd
protocols/strong@2 listops/none cee4a6ee30dd
protocols/strong@2 listops/s4d cee4a6ee30dd
protocols/strong@2 pathfinder256 f310125468f5
protocols/strong@2 pathfinder32 a35d46693c86
protocols/strong@2 pathfinder64 e71697229677
protocols/strong@2 pathx f39ea5b1d116
protocols/strong@2 retrieval 902f3435b7f1
protocols/strong@2 retrieval/fnet cee4a6ee30dd
protocols/strong@2 retrieval/longformer cee4a6ee30dd
protocols/strong@2 retrieval/no_mixing cee4a6ee30dd
protocols/strong@2 retrieval/none cee4a6ee30dd
protocols/strong@2 retrieval/s4d cee4a6ee30dd
protocols/strong@2 review_halves/fnet cee4a6ee30dd
protocols/strong@2 review_halves/longformer cee4a6ee30dd
protocols/strong@2 review_halves/no_mixing cee4a6ee30dd
protocols/strong@2 review_halves/none cee4a6ee30dd
protocols/strong@2 review_halves/s4d cee4a6ee30dd
protocols/strong@2 text 6cb8e50127f9
protocols/strong@2 text/fnet cee4a6ee30dd
protocols/strong@2 text/longformer cee4a6ee30dd
protocols/strong@2 text/no_mixing cee4a6ee30dd
protocols/strong@2 text/none cee4a6ee30dd
protocols/strong@2 text/s4d cee4a6ee30dd
protocols/strong@3 */none ef4ca5319057
protocols/strong@3 34a1abf784a1
protocols/strong@3 image f51b34e5a062
protocols/strong@3 listops a3b0373ee6eb
protocols/strong@3 listops/fnet cee4a6ee30dd
protocols/strong@3 listops/longformer cee4a6ee30dd
protocols/strong@3 listops/no_mixing cee4a6ee30dd
protocols/strong@3 listops/none cee4a6ee30dd
protocols/strong@3 listops/s4d cee4a6ee30dd
protocols/strong@3 pathfinder256 b22032676fdf
protocols/strong@3 pathfinder32 c7a4ea2ddd61
protocols/strong@3 pathfinder64 f3ffb3e5ebb2
protocols/strong@3 pathx 99ffc17d8de2
protocols/strong@3 retrieval 902f3435b7f1
protocols/strong@3 retrieval/fnet cee4a6ee30dd
protocols/strong@3 retrieval/longformer cee4a6ee30dd
protocols/strong@3 retrieval/no_mixing cee4a6ee30dd
protocols/strong@3 retrieval/none cee4a6ee30dd
protocols/strong@3 retrieval/s4d cee4a6ee30dd
protocols/strong@3 review_halves/fnet cee4a6ee30dd
protocols/strong@3 review_halves/longformer cee4a6ee30dd
protocols/strong@3 review_halves/no_mixing cee4a6ee30dd
protocols/strong@3 review_halves/none cee4a6ee30dd
protocols/strong@3 review_halves/s4d cee4a6ee30dd
protocols/strong@3 text 6cb8e50127f9
protocols/strong@3 text/fnet cee4a6ee30dd
protocols/strong@3 text/longformer cee4a6ee30dd
protocols/strong@3 text/no_mixing cee4a6ee30dd
protocols/strong@3 text/none cee4a6ee30dd
protocols/strong@3 text/s4d cee4a6ee30dd
)";

// Numbers of one version belong together: rules that change get a new one, and new lines here. A
// task that brings its own rules needs neither.
TEST(RulesTest, RulesChangeWithTheirVersionOnly) {
  std::set<std::string> found;
  for (const char* kind : {"presets", "protocols"}) {
    for (const std::string& name : ConfigNames(kind)) {
      std::vector<std::string> versions = EarlierVersions(kind, name);
      versions.push_back(name);
      for (const std::string& version : versions) {
        const auto fragment = LoadFragment(kind, version);
        ASSERT_TRUE(fragment.ok()) << fragment.status();
        found.merge(RulesOf(kind, *fragment));
      }
    }
  }
  EXPECT_EQ(absl::StrCat("\n", absl::StrJoin(found, "")), kPinned);
}

}  // namespace
}  // namespace lra
