#include <algorithm>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::StatusOr<int32_t> DroppedId(const TaskSpec& spec, const DataView& view,
                                  absl::string_view directory) {
  if (view.brackets() != DataView::NONE) return 0;
  if (spec.close_bracket_id() > 0) return spec.close_bracket_id();
  return absl::FailedPreconditionError(
      absl::StrCat("view.brackets is NONE, but task \"", spec.name(), "\" in ", directory,
                   " has no closing bracket: set view.brackets=CLOSE_ONLY, or make data that has "
                   "one with: lra data prepare listops"));
}

}  // namespace

absl::StatusOr<SplitView> SplitView::Create(const Dataset& data, absl::string_view split,
                                            const DataView& view) {
  const TaskSpec& spec = data.spec();
  SplitView result;
  result.split_ = data.split(split);
  if (result.split_ == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(data.directory(), ": split \"", split, "\" was not opened"));
  }
  if (spec.is_pair()) {
    return absl::FailedPreconditionError(
        absl::StrCat(data.directory(),
                     " holds pairs (spec.is_pair); this version serves single texts only, for "
                     "example: lra data prepare listops"));
  }
  LRA_ASSIGN_OR_RETURN(result.dropped_id_, DroppedId(spec, view, data.directory()));
  result.name_ = std::string(split);
  result.data_ = data;
  result.size_ = result.split_->examples;
  result.cut_tokens_ =
      view.has_max_length_tokens() ? view.max_length_tokens() : spec.max_length_tokens();
  result.lengths_.resize(result.size_);
  std::vector<uint16_t> scratch;
  for (int64_t i = 0; i < result.size_; ++i) {
    int64_t length = result.split_->length_tokens(i);
    if (result.dropped_id_ != 0) {
      const absl::Span<const uint16_t> tokens = result.split_->Tokens(i, &scratch);
      length -= std::count(tokens.begin(), tokens.end(), result.dropped_id_);
    }
    if (length == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(data.directory(), ": example ", i, " of split ", split,
                       " is empty under view.brackets=NONE; use CLOSE_ONLY"));
    }
    result.lengths_[i] = static_cast<int32_t>(std::min<int64_t>(length, result.cut_tokens_));
    result.max_length_ = std::max(result.max_length_, result.lengths_[i]);
  }
  return result;
}

int32_t SplitView::label(int64_t example) const { return split_->label(example); }

void SplitView::Read(int64_t example, std::vector<int32_t>* tokens) const {
  thread_local std::vector<uint16_t> scratch;
  tokens->clear();
  const size_t length = static_cast<size_t>(lengths_[example]);
  for (uint16_t token : split_->Tokens(example, &scratch)) {
    if (tokens->size() == length) break;
    if (token != dropped_id_ || dropped_id_ == 0) tokens->push_back(token);
  }
  LRA_CHECK(tokens->size() == length);
}

}  // namespace lra
