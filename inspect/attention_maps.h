// Attention maps of a trained model (`lra attend`).
#ifndef LRA_INSPECT_ATTENTION_MAPS_H_
#define LRA_INSPECT_ATTENTION_MAPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct AttendRequest {
  // A checkpoint folder, or a run folder, which stands for its selected checkpoint or, while
  // unfinished, its latest.
  std::string checkpoint;
  std::string data_dir;            // empty = the run's own (inspect/open_checkpoint.h)
  bool allows_other_data = false;  // otherwise other examples than the run's are refused
  std::string split = "validation";
  // How many examples are used: the first of the split that are not longer than max_tokens (CLS
  // included). A map takes memory proportional to the square of the length.
  int64_t examples = 16;
  int64_t max_tokens = 512;
  std::optional<int64_t> layer, head;  // unset = all
  // Threshold of the coverage count; eval/attention_map.h defines it.
  double threshold = 0.5;
  std::string out_dir;
  std::string command_line;
  int threads = 0;
  bool quiet = false;
};

struct AttendedMap {
  std::string name;  // "layer0-head1", "layer0" (mean of its heads) or "all"
  int64_t tokens = 0;
  std::vector<std::string> files;  // relative to out_dir
};

struct Attended {
  std::vector<AttendedMap> maps;
  int64_t examples = 0;
  int64_t skipped = 0;        // examples before the last used one that were longer than max_tokens
  std::string attention;      // its registered name
  bool has_coverage = false;  // only if the weights of a query are shares of 1
};

// Writes NAME-mean.npy and .png and, where weights are >= 0 and sum to 1, NAME-coverage.npy and
// .png: for each head, for each layer (the mean of its heads) and for all. maps.json describes
// them. Each example is run alone and without dropout, and without padding unless padding affects
// the model. Maps of pairs include both texts. If the split is test, the look is logged in the
// run's record. InvalidArgument for a method without weights, a layer or head that does not exist,
// and a split without a short enough example.
absl::StatusOr<Attended> AttendCheckpoint(const AttendRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_ATTENTION_MAPS_H_
