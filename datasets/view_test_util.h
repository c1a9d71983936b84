// For tests of views: specs of small tasks, and a function that applies a view to an example.
#ifndef LRA_DATASETS_VIEW_TEST_UTIL_H_
#define LRA_DATASETS_VIEW_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/manifest.h"
#include "datasets/view.h"
#include "lra/sha256.h"

namespace lra {

using Bytes = std::vector<uint8_t>;
using Ids = std::vector<int32_t>;

inline TaskSpec TextSpec(bool is_pair = false) {
  TaskSpec spec;
  spec.set_name("words");
  spec.set_content(TaskSpec::TEXT);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(12);
  spec.set_classes(2);
  spec.set_is_pair(is_pair);
  return spec;
}

inline TaskSpec ImageSpec(TaskSpec::Content content, int side) {
  TaskSpec spec;
  spec.set_name("pictures");
  spec.set_content(content);
  spec.set_vocabulary_size(256);
  spec.set_image_side_pixels(side);
  spec.set_max_length_tokens(side * side * (content == TaskSpec::RGB_IMAGE ? 3 : 1));
  spec.set_classes(2);
  return spec;
}

// Ids 1 .. 5, of which 5 closes a bracket.
inline TaskSpec IdSpec() {
  TaskSpec spec;
  spec.set_name("trees");
  spec.set_vocabulary_size(6);
  spec.set_max_length_tokens(8);
  spec.set_classes(2);
  spec.set_close_bracket_id(5);
  for (const char* name : {"<pad>", "1", "2", "3", "[", "]"}) spec.add_token_names(name);
  return spec;
}

inline Manifest Stored(const TaskSpec& spec) {
  Manifest manifest;
  *manifest.mutable_spec() = spec;
  for (const char* name : {"train", "validation", "test"}) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_examples(10);
    split->set_content_fingerprint(Sha256Hex(name));
  }
  return manifest;
}

inline DataView Resolved(const TaskSpec& spec, const DataView& view) {
  const absl::StatusOr<DataView> resolved = ResolveView(Stored(spec), view);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.value_or(view);
}

inline ViewTransform Transform(const TaskSpec& spec, const DataView& view) {
  return ViewTransform(spec, Resolved(spec, view));
}

// Applies the view and expects that Length agrees with the result.
inline Ids Apply(const ViewTransform& transform, absl::string_view text) {
  const Bytes bytes(text.begin(), text.end());
  Ids ids;
  transform.Apply(absl::MakeConstSpan(bytes), &ids);
  EXPECT_EQ(transform.Length(absl::MakeConstSpan(bytes)), static_cast<int64_t>(ids.size())) << text;
  return ids;
}

inline Ids Apply(const ViewTransform& transform, const std::vector<uint16_t>& stored) {
  Ids ids;
  transform.Apply(absl::MakeConstSpan(stored), &ids);
  EXPECT_EQ(transform.Length(absl::MakeConstSpan(stored)), static_cast<int64_t>(ids.size()));
  return ids;
}

inline Ids Plus(int32_t offset, absl::string_view text) {
  Ids ids;
  for (char c : text) ids.push_back(static_cast<uint8_t>(c) + offset);
  return ids;
}

}  // namespace lra

#endif  // LRA_DATASETS_VIEW_TEST_UTIL_H_
