// Attention maps of a trained model: `lra attend`.
#ifndef LRA_TRAIN_ATTEND_H_
#define LRA_TRAIN_ATTEND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct AttendRequest {
  // A checkpoint folder, or a run folder (its selected checkpoint; while unfinished, its latest).
  std::string checkpoint;
  std::string data_dir;
  std::string split = "validation";
  // The first ones of the split that are not longer than max_tokens (CLS included): a map needs
  // memory of the order of the square.
  int64_t examples = 16;
  int64_t max_tokens = 512;
  std::optional<int64_t> layer, head;  // all without
  // Of coverage: eval/attention_map.h.
  double threshold = 0.5;
  std::string out_dir;
  std::string command_line;
  int threads = 0;
  bool quiet = false;
};

struct AttendedMap {
  std::string name;  // "layer0-head1", "layer0" (the mean of its heads), "all"
  int64_t tokens = 0;
  std::vector<std::string> files;  // in out_dir
};

struct Attended {
  std::vector<AttendedMap> maps;
  int64_t examples = 0;
  int64_t skipped = 0;        // longer than max_tokens, before the last one that was used
  std::string attention;      // registered name
  bool has_coverage = false;  // only for weights that are shares of 1
};

// Writes NAME-mean.npy and .png, and NAME-coverage.npy and .png where weights are >= 0 and sum to
// 1, of each head, of each layer (mean of its heads) and of all, and maps.json with what they are
// of. Each example is looked at alone, without dropout, and without padding unless padding counts
// in the model; the maps of pairs are over both texts. A look at the test split is logged in the
// run's record. InvalidArgument for a method without weights, a layer or head that does not exist,
// and a split without a short enough example.
absl::StatusOr<Attended> AttendCheckpoint(const AttendRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_ATTEND_H_
