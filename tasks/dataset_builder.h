// Fills a folder with a data set: splits, fingerprints, duplicate keys, manifest. The order of Add
// decides every byte.
#ifndef LRA_TASKS_DATASET_BUILDER_H_
#define LRA_TASKS_DATASET_BUILDER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "datasets/leakage.h"
#include "datasets/manifest.pb.h"
#include "datasets/split_writer.h"
#include "lra/progress.h"
#include "tasks/task.h"

namespace lra {

// An example on its way to the disk.
struct HashedExample {
  int split = 0;  // number in Task::Splits
  EncodedExample example;
  ExampleDigest digest;
  uint64_t key = 0;  // RawExample.key
};

// Not thread-safe.
class DatasetBuilder {
 public:
  // `head` is the manifest without splits and duplicates. `directory` exists.
  DatasetBuilder(absl::string_view directory, const Manifest& head,
                 const std::vector<SplitSize>& splits);

  absl::Status Add(const HashedExample& item);
  // Whether an example with these tokens was added, to any split. Only of generated data.
  bool Contains(const Sha256Digest& input) const { return inputs_.contains(ToInputKey(input)); }
  int64_t examples() const { return examples_; }
  void SetSources(std::vector<ManifestSource> sources);
  void SetSkipped(const std::vector<SkippedExamples>& skipped);

  // Writes the last shards and the manifest.
  absl::StatusOr<Manifest> Finish();

 private:
  const std::string directory_;
  Manifest manifest_;
  std::vector<SplitWriter> writers_;
  std::vector<SplitKeys> keys_;  // by split
  absl::flat_hash_set<InputKey> inputs_;
  int64_t examples_ = 0;
};

// Examples [first, last) of one split.
struct ExampleRange {
  int split = 0;
  int64_t first = 0, last = 0;
};
// What part `index` of `parts` makes of every split; the whole without a part.
std::vector<ExampleRange> PartRanges(const std::vector<SplitSize>& splits, const DataPart& part);

// Both fill the builder through the ordered pipeline: equal bytes for any number of threads (0 =
// all cores). A generated duplicate takes its example's next attempt; imported ones are kept and
// counted.
absl::Status GenerateInto(const Task& task, uint32_t seed, const std::vector<ExampleRange>& ranges,
                          int threads, Progress* progress, DatasetBuilder* builder);
// `raw` as for OpenRawSource. Memory: SplitWriter's share a split, and four batches a thread. A
// batch has 1 MB of raw data or pictures (5 MB where single lines have 4 MB) and its encoding of
// twice that: up to 20 MB a thread. Readers that are not ordered go through a spool file in
// `directory`, which needs room for all tokens, and 100 to 250 bytes of memory an example with what
// the reader keeps. All of aclImdb: 108, 128 and 159 MB on 1, 2 and 16 threads; 300 MB of reviews
// of 60 KB: 115, 141 and 363 MB.
absl::Status ImportInto(const Task& task, absl::string_view raw, absl::string_view directory,
                        int threads, Progress* progress, DatasetBuilder* builder);

// Puts example `index` of a split into the builder: `item` if its input is new, otherwise what the
// task makes of the following attempts. `attempt` is the one that gave `item`.
absl::Status AddGenerated(const Task& task, uint32_t seed, uint32_t index, uint32_t attempt,
                          HashedExample item, DatasetBuilder* builder);

}  // namespace lra

#endif  // LRA_TASKS_DATASET_BUILDER_H_
