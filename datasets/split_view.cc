#include "datasets/split_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "datasets/split_rule.h"
#include "lra/check.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr int64_t kSliceExamples = 1024;

}  // namespace

SplitView::SplitView(const Dataset& data, absl::string_view split, const DataView& resolved)
    : name_(split), data_(data), transform_(data.spec(), resolved) {}

absl::StatusOr<SplitView> SplitView::Create(const Dataset& data, absl::string_view split,
                                            const DataView& view) {
  absl::StatusOr<DataView> resolved = ResolveView(data.manifest(), view);
  if (!resolved.ok()) {
    return absl::Status(resolved.status().code(),
                        absl::StrCat(data.directory(), ": ", resolved.status().message()));
  }
  if (!IsSplitName(split) && resolved->split() != DataView::OFFICIAL) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown split \"", split, "\"; a view has train, validation and test"));
  }
  SplitView result(data, split, *resolved);
  const std::string stored = StoredSplit(data.manifest(), resolved->split(), split);
  result.split_ = data.split(stored);
  if (result.split_ == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(data.directory(), ": split \"", stored, "\" was not opened"));
  }
  result.examples_ =
      SplitExamples(data.manifest(), resolved->split(), split,
                    [&result](int64_t example) { return result.split_->label(example); });
  if (result.examples_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        data.directory(), ": split ", split, " has no examples under view.split=",
        DataView::Split_Name(resolved->split()), " of ", result.split_->examples, " stored ones"));
  }
  if (result.transform_.NeedsVocabulary()) LRA_RETURN_IF_ERROR(result.AddVocabulary(*resolved));
  result.spec_ = result.transform_.spec();
  result.prompt_place_ = PromptPlace(data.manifest().extra_columns());
  for (size_t c = 0; c < TokenColumns(data.spec()).size(); ++c) {
    LRA_RETURN_IF_ERROR(result.MeasureLengths(static_cast<int>(c)));
  }
  return result;
}

absl::Status SplitView::AddVocabulary(const DataView& view) {
  const Manifest& manifest = data_.manifest();
  const internal::MappedSplit* train = data_.split(StoredSplit(manifest, view.split(), "train"));
  if (train == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        data_.directory(), ": view.unit=CODE_POINT needs the training texts, which are not open"));
  }
  const std::vector<int64_t> examples = SplitExamples(
      manifest, view.split(), "train", [train](int64_t example) { return train->label(example); });
  transform_.AddVocabulary(static_cast<int64_t>(examples.size()), [&](int64_t i, int column) {
    return train->Bytes(examples[i], column);
  });
  return absl::OkStatus();
}

absl::Status SplitView::MeasureLengths(int column) {
  std::vector<int32_t>& lengths = lengths_.emplace_back(examples_.size());
  const bool ids = data_.spec().content() == TaskSpec::IDS;
  const int64_t slices = (size() + kSliceExamples - 1) / kSliceExamples;
  const int threads = ResolveThreads(data_.threads());
  LRA_RETURN_IF_ERROR(ParallelFor(threads, slices, [&](int64_t slice) -> absl::Status {
    std::vector<uint16_t> scratch;
    const int64_t end = std::min(size(), (slice + 1) * kSliceExamples);
    for (int64_t i = slice * kSliceExamples; i < end; ++i) {
      const int64_t length = ids ? transform_.Length(split_->Tokens(examples_[i], &scratch, column))
                                 : transform_.Length(split_->Bytes(examples_[i], column));
      if (length == 0) {
        return absl::FailedPreconditionError(
            absl::StrCat(data_.directory(), ": example ", examples_[i], " of split ", split_->name,
                         " is empty under this view", ids ? "; use view.brackets=CLOSE_ONLY" : ""));
      }
      lengths[i] = static_cast<int32_t>(length);
    }
    return absl::OkStatus();
  }));
  max_length_ = std::max(max_length_, *std::max_element(lengths.begin(), lengths.end()));
  return absl::OkStatus();
}

int32_t SplitView::label(int64_t example) const { return split_->label(examples_[example]); }

const std::string& SplitView::stored_split() const { return split_->name; }

int32_t SplitView::longest_tokens(int64_t example) const {
  int32_t longest = 0;
  for (const auto& lengths : lengths_) longest = std::max(longest, lengths[example]);
  return longest;
}

void SplitView::Read(int64_t example, std::vector<int32_t>* ids, int column) const {
  if (data_.spec().content() == TaskSpec::IDS) {
    thread_local std::vector<uint16_t> scratch;
    transform_.Apply(split_->Tokens(examples_[example], &scratch, column), ids);
  } else {
    transform_.Apply(split_->Bytes(examples_[example], column), ids);
  }
  LRA_CHECK(static_cast<int32_t>(ids->size()) == lengths_[column][example]);
}

void SplitView::ReadStored(int64_t example, std::vector<int32_t>* ids) const {
  thread_local std::vector<uint16_t> scratch;
  const absl::Span<const uint16_t> stored = split_->Tokens(examples_[example], &scratch);
  ids->assign(stored.begin(), stored.end());
}

void SplitView::ReadReal(int64_t example, std::vector<float>* values) const {
  transform_.ApplyReal(split_->Bytes(examples_[example]), values);
}

int32_t SplitView::prompt_tokens(int64_t example) const {
  return prompt_place_ < 0 ? 0 : Extra(example)[prompt_place_];
}

std::vector<int16_t> SplitView::Extra(int64_t example) const {
  return split_->Extra(examples_[example]);
}

std::vector<int32_t> Labels(const SplitView& split) {
  std::vector<int32_t> labels(split.size());
  for (int64_t i = 0; i < split.size(); ++i) labels[i] = split.label(i);
  return labels;
}

std::vector<int64_t> StoredIndices(const SplitView& split) {
  std::vector<int64_t> indices(split.size());
  for (int64_t i = 0; i < split.size(); ++i) indices[i] = split.stored_index(i);
  return indices;
}

}  // namespace lra
