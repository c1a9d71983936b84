// One split of a data set as a model reads it, that is, through a DataView.
//
//   const Dataset::OpenOptions options = {.splits = {"train", "validation"}, .view = &view};
//   LRA_ASSIGN_OR_RETURN(Dataset data, Dataset::Open("data/text", options));
//   LRA_ASSIGN_OR_RETURN(SplitView train, SplitView::Create(data, "train", view));
#ifndef LRA_DATASETS_SPLIT_VIEW_H_
#define LRA_DATASETS_SPLIT_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/dataset.h"
#include "datasets/view.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

// Safe for concurrent reading.
class SplitView {
 public:
  SplitView() = default;  // an empty object to assign to
  // Errors are those of ResolveView; FailedPrecondition for an example or a split that would be
  // empty.
  static absl::StatusOr<SplitView> Create(const Dataset& data, absl::string_view split,
                                          const DataView& view);

  int64_t size() const { return static_cast<int64_t>(examples_.size()); }
  int32_t label(int64_t example) const;
  // The number of values that Read gives, never 0. Column 1 is the second text of a pair.
  int32_t length_tokens(int64_t example, int column = 0) const { return lengths_[column][example]; }
  // The length of the longer text of a pair, or of the only one.
  int32_t longest_tokens(int64_t example) const;
  // Replaces *ids by the example's ids as the view shows them.
  void Read(int64_t example, std::vector<int32_t>* ids, int column = 0) const;
  // Replaces *ids by the example's stored ids, of which the view hides nothing. Of data that stores
  // ids or bytes.
  void ReadStored(int64_t example, std::vector<int32_t>* ids) const;
  // Does what Read does for views of real numbers (spec().is_real()).
  void ReadReal(int64_t example, std::vector<float>* values) const;
  // How many of the example's first tokens are given where tokens are guessed: what the data set's
  // column kPromptColumn says, 0 without it.
  int32_t prompt_tokens(int64_t example) const;
  // Whether the data set has that column.
  bool has_prompts() const { return prompt_place_ >= 0; }
  // The share of tokens that are hidden where hidden tokens are guessed.
  double masked_fraction() const { return transform_.masked_fraction(); }
  // The example's values of the data set's extra columns, one column after the other
  // (Task::ExtraColumns); empty without such columns.
  std::vector<int16_t> Extra(int64_t example) const;
  // The length of the longest example under the view.
  int32_t max_length_tokens() const { return max_length_; }
  // The length that view.pad_to pads every sequence to; 0 = that of the longest in its batch.
  int64_t fixed_length_tokens() const { return transform_.FixedLength(); }
  // Describes what the view yields: ids, length, whether examples are pairs.
  const TaskSpec& spec() const { return spec_; }
  const std::string& name() const { return name_; }
  // stored_split and stored_index say where an example is stored.
  const std::string& stored_split() const;
  int64_t stored_index(int64_t example) const { return examples_[example]; }

 private:
  SplitView(const Dataset& data, absl::string_view split, const DataView& resolved);
  absl::Status AddVocabulary(const DataView& view);
  absl::Status MeasureLengths(int column);

  std::string name_;
  Dataset data_;
  ViewTransform transform_;
  TaskSpec spec_;
  const internal::MappedSplit* split_ = nullptr;
  std::vector<int64_t> examples_;  // indices in *split_
  int32_t max_length_ = 0;
  int64_t prompt_place_ = -1;  // of kPromptColumn's value in Extra(); -1 = there is none
  std::vector<std::vector<int32_t>> lengths_;  // [column][example]
};

// The label of every example, in the split's order.
std::vector<int32_t> Labels(const SplitView& split);
// The stored_index of every example, in the split's order: no two are equal.
std::vector<int64_t> StoredIndices(const SplitView& split);

}  // namespace lra

#endif  // LRA_DATASETS_SPLIT_VIEW_H_
