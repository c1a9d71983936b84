// What a DataView makes of one stored example: ids or real numbers. Which examples it takes is
// split_rule.h's part.
#ifndef LRA_DATASETS_VIEW_H_
#define LRA_DATASETS_VIEW_H_

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"

namespace lra {

// Names of the fields of DataView that say something about data of this spec, in field order.
// `pixels` decides about real_mean and real_stddev, `unit` about min_code_point_count.
std::vector<std::string> ViewFields(const TaskSpec& spec, const DataView& view);

// The view with every field of ViewFields set: what is unset becomes OFFICIAL or what stands for it
// (ResolveSplitRule), CLOSE_ONLY, BYTE, no end mark, at least 15 of a code point, RAW, TENSORFLOW,
// IDS, mean and deviation 1/2. InvalidArgument for fields that are set but say nothing about
// this data, FailedPrecondition for what it cannot serve.
absl::StatusOr<DataView> ResolveView(const Manifest& manifest, const DataView& view);

// The longest that a batch under the view may be, in tokens: max_length_tokens, or the next power
// of two under POWER_OF_TWO.
inline int64_t MaxBatchTokens(const DataView& view) {
  const auto longest = static_cast<uint64_t>(view.max_length_tokens());
  const bool is_rounded = view.pad_to() == DataView::POWER_OF_TWO;
  return static_cast<int64_t>(is_rounded ? std::bit_ceil(longest) : longest);
}

// Immutable, cheap to copy, safe for concurrent use.
class ViewTransform {
 public:
  ViewTransform() = default;
  // `view` is resolved. CODE_POINT needs AddVocabulary before anything is read.
  ViewTransform(const TaskSpec& spec, const DataView& view);

  // Whether ids depend on the training texts.
  bool NeedsVocabulary() const { return view_.unit() == DataView::CODE_POINT; }
  // Counts the code points of all training texts (as they are cut) and gives an id to those that
  // are frequent enough: by falling count, equal counts by rising code point.
  using TextSource = std::function<absl::Span<const uint8_t>(int64_t example, int column)>;
  void AddVocabulary(int64_t examples, const TextSource& text);

  // The spec of what the view yields: vocabulary_size, max_length_tokens, token_names,
  // zero_is_token, is_real.
  TaskSpec spec() const;

  // Replaces *ids. Ids that are stored as such:
  void Apply(absl::Span<const uint16_t> stored, std::vector<int32_t>* ids) const;
  // Texts and images:
  void Apply(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const;
  // Images with pixels: REAL.
  void ApplyReal(absl::Span<const uint8_t> stored, std::vector<float>* values) const;
  // Tokens that view.pad_to gives to every text; 0 = as many as the longest of its batch has.
  int64_t FixedLength() const;
  // size() of what Apply makes, without making it where that is possible.
  int64_t Length(absl::Span<const uint16_t> stored) const;
  int64_t Length(absl::Span<const uint8_t> stored) const;

 private:
  struct Vocabulary;
  void ApplyText(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const;
  void Grey(absl::Span<const uint8_t> stored, std::vector<uint8_t>* grey) const;
  // Code points or bytes after decoding and cutting, end mark not counted.
  void Units(absl::Span<const uint8_t> stored, std::vector<int32_t>* units) const;
  int32_t EndMark() const;
  int64_t CutTokens() const;

  TaskSpec stored_;
  DataView view_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace lra

#endif  // LRA_DATASETS_VIEW_H_
