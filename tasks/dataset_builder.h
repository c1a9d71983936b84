// Fills a folder with a data set: splits, fingerprints, duplicate keys, manifest. The bytes depend
// on the order of the calls of Add and on nothing else.
#ifndef LRA_TASKS_DATASET_BUILDER_H_
#define LRA_TASKS_DATASET_BUILDER_H_

#include <functional>
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
  int split = 0;  // index in Task::Splits
  EncodedExample example;
  ExampleDigest digest;
  uint64_t key = 0;  // RawExample.key
};

// Not thread-safe.
class DatasetBuilder {
 public:
  // `head` is the manifest without splits, duplicates and program. `directory` exists.
  DatasetBuilder(absl::string_view directory, const Manifest& head,
                 const std::vector<SplitSize>& splits);

  absl::Status Add(const HashedExample& item);
  // Whether an example with these tokens was added to any split. For generated data only.
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
  std::vector<SplitKeys> keys_;  // one for each split
  absl::flat_hash_set<InputKey> inputs_;
  int64_t examples_ = 0;
};

// The examples [first, last) of one split.
struct ExampleRange {
  int split = 0;
  int64_t first = 0, last = 0;
};
// The examples of every split that part `index` of `parts` makes; all of them without a part.
std::vector<ExampleRange> PartRanges(const std::vector<SplitSize>& splits, const DataPart& part);

// Both functions fill the builder through the ordered pipeline, so the bytes are equal for any
// number of threads (0 = all cores). If a generated example is a duplicate, its next attempt is
// taken; imported duplicates are kept and counted.
absl::Status GenerateInto(const Task& task, uint32_t seed, const std::vector<ExampleRange>& ranges,
                          int threads, Progress* progress, DatasetBuilder* builder);
// Imports `raw` (see OpenRawSource). Memory: SplitWriter's share for each split, and four batches
// for each thread. A batch has 1 MB of raw data or pictures (5 MB if single lines have 4 MB) and
// its encoding of twice that, so up to 20 MB a thread. Readers that are not ordered use a spool
// file in `directory`, which needs room for all tokens, and 100 to 250 bytes of memory an example
// together with what the reader keeps. Importing aclImdb takes 108, 128 and 159 MB on 1, 2 and 16
// threads; 300 MB of reviews of 60 KB take 115, 141 and 363 MB.
absl::Status ImportInto(const Task& task, absl::string_view raw, absl::string_view directory,
                        int threads, Progress* progress, DatasetBuilder* builder);

// The same of what `reader` gives. `fraction_read`, from 0 to 1, lets the progress estimate its
// total; it may be null.
absl::Status ImportFrom(const Task& task, RawReader* reader,
                        const std::function<double()>& fraction_read, absl::string_view directory,
                        int threads, Progress* progress, DatasetBuilder* builder);

// Adds example `index` of a split to the builder: `item`, made by attempt `attempt`, or if its
// input is a duplicate, the first of the following attempts whose input is new.
absl::Status AddGenerated(const Task& task, uint32_t seed, uint32_t index, uint32_t attempt,
                          HashedExample item, DatasetBuilder* builder);

}  // namespace lra

#endif  // LRA_TASKS_DATASET_BUILDER_H_
