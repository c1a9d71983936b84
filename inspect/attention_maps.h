// Attention maps of a trained model (`lra attend`).
#ifndef LRA_INSPECT_ATTENTION_MAPS_H_
#define LRA_INSPECT_ATTENTION_MAPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inspect/open_checkpoint.h"

namespace lra {

// A map takes memory proportional to the square of the length. Images of 32 x 32 pixels and CLS fit
// without a limit that is given.
inline constexpr int64_t kMaxMapTokens = 512;
inline constexpr int64_t kMaxImageMapTokens = 32 * 32 + 1;

struct AttendRequest : LookRequest {
  // How many examples are used: the first of the split that are not longer than max_tokens (CLS
  // included).
  int64_t examples = 16;
  // One example, by its place in the split, instead.
  std::optional<int64_t> example;
  // Unset = kMaxMapTokens, of images kMaxImageMapTokens.
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> layer, head;  // unset = all
  // Threshold of the coverage count; eval/attention_map.h defines it.
  double threshold = 0.5;
  std::string out_dir;
};

struct AttendedMap {
  std::string name;  // "layer0-head1", "layer0" (mean of its heads) or "all"
  int64_t tokens = 0;
  std::vector<std::string> files;  // relative to out_dir
};

struct Attended {
  std::vector<AttendedMap> maps;
  std::vector<int64_t> examples;  // places in the split
  int64_t skipped = 0;        // examples before the last used one that were longer than the limit
  int64_t max_tokens = 0;     // the limit
  std::string attention;      // its registered name
  bool has_coverage = false;  // only if the weights of a query are shares of 1
  // What each token of a single example stands for (datasets/token_text.h; printable ASCII under
  // unit=CODE_POINT as under unit=BYTE), hidden ones "<mask>"; empty for pixels, pairs and several
  // examples.
  std::vector<std::string> tokens;
};

// Writes NAME-mean.npy and .png and, where weights are >= 0 and sum to 1, NAME-coverage.npy and
// .png: for each head, for each layer (the mean of its heads) and for all. Where positions alone
// change weights, NAME-reweighting.npy and .png: the weights where all queries and keys are equal,
// each divided by that of the query's own position (Qin et al. 2022, Figure 3 (4), of cosFormer).
// Images also have
// NAME-picture.npy and .png: the weight that each pixel receives. maps.json describes them. Each
// example is run alone and without dropout, and without padding unless padding affects the model.
// Maps of pairs include both texts. If the split is test, the look is logged in the run's record.
// InvalidArgument for a method without weights, a layer, head or example that does not exist, and a
// split without a short enough example; these, and the errors of an out_dir that cannot be made or
// written, come before anything is logged or computed.
absl::StatusOr<Attended> AttendCheckpoint(const AttendRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_ATTENTION_MAPS_H_
