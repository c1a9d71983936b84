// Turns one stored example into ids or real numbers as a DataView says. Which examples a split has
// is decided in datasets/split_rule.h.
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

// Names of the fields of DataView that apply to data of this spec, in field order. The value of
// `pixels` decides whether real_mean and real_stddev apply, and `unit` whether min_code_point_count
// does.
std::vector<std::string> ViewFields(const TaskSpec& spec, const DataView& view);

// Returns the view with every field of ViewFields set (`target` is one where it is set). Unset
// fields become: OFFICIAL or the default of ResolveSplitRule, CLOSE_ONLY, BYTE, no end mark, a code
// point count of at least 15, RAW, TENSORFLOW, IDS, mean and deviation 1/2. InvalidArgument for
// fields that do not apply to this data, FailedPrecondition for what the data does not allow.
absl::StatusOr<DataView> ResolveView(const Manifest& manifest, const DataView& view);

// The longest that a sequence of a batch may be under the view, in tokens: max_length_tokens, or
// the next power of two with POWER_OF_TWO.
inline int64_t MaxBatchTokens(const DataView& view) {
  const auto longest = static_cast<uint64_t>(view.max_length_tokens());
  const bool is_rounded = view.pad_to() == DataView::POWER_OF_TWO;
  return static_cast<int64_t>(is_rounded ? std::bit_ceil(longest) : longest);
}

// The spec of what `view` makes of such data, as far as it is known without the data: where a
// vocabulary of code points would be counted, that of bytes stands for it.
TaskSpec SpecWithoutData(const TaskSpec& spec, DataView view);

// Immutable, cheap to copy, safe for concurrent use.
class ViewTransform {
 public:
  ViewTransform() = default;
  // `view` is resolved. With CODE_POINT, AddVocabulary must be called before anything is read.
  ViewTransform(const TaskSpec& spec, const DataView& view);

  // Whether ids depend on the training texts.
  bool NeedsVocabulary() const { return view_.unit() == DataView::CODE_POINT; }
  // Counts the code points of all training texts, as these are cut, and gives ids to those that are
  // frequent enough: by falling count, equal counts by rising code point.
  using TextSource = std::function<absl::Span<const uint8_t>(int64_t example, int column)>;
  void AddVocabulary(int64_t examples, const TextSource& text);

  // The spec of what the view yields; it differs from the stored one in vocabulary_size,
  // max_length_tokens, token_names, zero_is_token and is_real, and where tokens are guessed in
  // guesses_tokens, classes and metric_name.
  TaskSpec spec() const;

  // Replaces *ids; for examples that are stored as ids.
  void Apply(absl::Span<const uint16_t> stored, std::vector<int32_t>* ids) const;
  // Replaces *ids; for texts and images.
  void Apply(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const;
  // Replaces *values; for images with pixels = REAL.
  void ApplyReal(absl::Span<const uint8_t> stored, std::vector<float>* values) const;
  // The number of tokens that view.pad_to pads every sequence to; 0 = as many as the longest of its
  // batch has.
  int64_t FixedLength() const;
  double masked_fraction() const { return view_.masked_fraction(); }
  // The number of ids that Apply gives, computed without making them where possible.
  int64_t Length(absl::Span<const uint16_t> stored) const;
  int64_t Length(absl::Span<const uint8_t> stored) const;

 private:
  struct Vocabulary;
  TaskSpec InputSpec() const;
  void ApplyText(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const;
  // In the order of the tokens.
  void Pixels(absl::Span<const uint8_t> stored, std::vector<uint8_t>* pixels) const;
  // The code points or bytes after decoding and cutting, without the end mark.
  void Units(absl::Span<const uint8_t> stored, std::vector<int32_t>* units) const;
  int64_t CutTokens() const;

  TaskSpec stored_;
  DataView view_;
  int32_t end_mark_id_ = -1;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace lra

#endif  // LRA_DATASETS_VIEW_H_
