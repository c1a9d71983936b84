// Small data sets for tests.
#ifndef LRA_DATASETS_DATA_TEST_UTIL_H_
#define LRA_DATASETS_DATA_TEST_UTIL_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "datasets/example.h"
#include "datasets/manifest.h"
#include "datasets/split_writer.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/random.h"

namespace lra {

struct TestSplit {
  std::string name;
  std::vector<EncodedExample> examples;
};

// kPromptColumn of so many values an example.
inline ExtraColumn PromptColumn(int32_t values = 1) {
  ExtraColumn column;
  column.set_name(std::string(kPromptColumn));
  column.add_shape(values);
  return column;
}

// Random examples of 1 .. 40 tokens (1 .. 12 in a second column) with ids 1 .. V-1. Id V-1 plays a
// closing bracket and never stands alone.
inline std::vector<EncodedExample> RandomExamples(const TaskSpec& spec, int64_t count,
                                                  uint32_t seed) {
  RandomStream random(seed, RandomDomain::kTest, {0, 0, 0});
  std::vector<EncodedExample> examples(count);
  for (EncodedExample& example : examples) {
    example.tokens = {1};
    for (int64_t left = random.Between(0, 39); left > 0; --left) {
      example.tokens.push_back(
          static_cast<uint16_t>(random.Between(1, spec.vocabulary_size() - 1)));
    }
    for (int64_t left = spec.is_pair() ? random.Between(1, 12) : 0; left > 0; --left) {
      example.tokens_b.push_back(
          static_cast<uint16_t>(random.Between(1, spec.vocabulary_size() - 1)));
    }
    example.label = static_cast<int32_t>(random.Below(spec.classes()));
  }
  return examples;
}

inline TaskSpec SmallSpec(int vocabulary_size = 16, bool is_pair = false) {
  TaskSpec spec;
  spec.set_name("small");
  spec.set_version(1);
  spec.set_vocabulary_size(vocabulary_size);
  spec.set_max_length_tokens(40);
  spec.set_classes(3);
  spec.set_is_pair(is_pair);
  spec.set_close_bracket_id(vocabulary_size - 1);
  return spec;
}

// Writes a data set into the new folder `directory`. A shard ends when it has `shard_tokens`
// tokens.
inline Manifest WriteTestData(absl::string_view directory, const TaskSpec& spec,
                              const std::vector<TestSplit>& splits, int64_t shard_tokens = 1 << 20,
                              const std::vector<ExtraColumn>& extra_columns = {}) {
  LRA_CHECK(MakeDirectories(directory).ok());
  Manifest manifest;
  manifest.set_format_version(kDatasetFormatVersion);
  *manifest.mutable_spec() = spec;
  manifest.set_origin("imported");
  manifest.mutable_extra_columns()->Assign(extra_columns.begin(), extra_columns.end());
  ExampleHasher hasher(PromptPlace(extra_columns));
  for (const TestSplit& split : splits) {
    SplitWriter writer(directory, split.name, manifest, shard_tokens);
    for (const EncodedExample& example : split.examples) {
      LRA_CHECK(writer.Add(example, hasher.Hash(spec, example).example).ok());
    }
    absl::StatusOr<ManifestSplit> written = writer.Finish();
    LRA_CHECK(written.ok()) << written.status().ToString();
    *manifest.add_splits() = *std::move(written);
  }
  const absl::Status status = WriteManifest(directory, manifest);
  LRA_CHECK(status.ok()) << status.ToString();
  return manifest;
}

// Overwrites a file in place, without rename or flush.
inline void OverwriteFile(const std::string& path, absl::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  LRA_CHECK(file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush().good());
}

inline void FlipByte(const std::string& path, size_t position) {
  std::string bytes = *ReadFile(path);
  LRA_CHECK(position < bytes.size());
  bytes[position] = static_cast<char>(bytes[position] ^ 0x40);
  OverwriteFile(path, bytes);
}

}  // namespace lra

#endif  // LRA_DATASETS_DATA_TEST_UTIL_H_
