#include "datasets/split_writer.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/npy.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

template <class T>
absl::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string HeaderOf(const std::vector<T>& values) {
  return FormatNpyHeader(NpyTypeOf<T>(), {static_cast<int64_t>(values.size())});
}

}  // namespace

SplitWriter::SplitWriter(absl::string_view directory, absl::string_view split, const Manifest& head,
                         int64_t shard_tokens)
    : directory_(directory),
      spec_(head.spec()),
      extra_columns_(head.extra_columns().begin(), head.extra_columns().end()),
      shard_tokens_limit_(shard_tokens),
      extras_(extra_columns_.size()) {
  split_.set_name(std::string(split));
  split_.mutable_label_count()->Resize(spec_.classes(), 0);
  columns_.resize(TokenColumns(spec_).size());
}

void SplitWriter::Append(const std::vector<uint16_t>& tokens, Column* column) {
  if (StoresBytes(spec_)) {
    column->bytes.insert(column->bytes.end(), tokens.begin(), tokens.end());
  } else {
    column->words.insert(column->words.end(), tokens.begin(), tokens.end());
  }
  column->offsets.push_back(column->offsets.back() + static_cast<int64_t>(tokens.size()));
  shard_tokens_ += static_cast<int64_t>(tokens.size());
}

absl::Status SplitWriter::Add(const EncodedExample& example, const Sha256Digest& digest) {
  LRA_CHECK(example.label >= 0 && example.label < spec_.classes());
  Append(example.tokens, &columns_[0]);
  if (spec_.is_pair()) Append(example.tokens_b, &columns_[1]);
  labels_.push_back(example.label);
  auto extra = example.extra.begin();
  for (size_t i = 0; i < extras_.size(); ++i) {
    const int64_t values = ExtraValues(extra_columns_[i]);
    LRA_CHECK(example.extra.end() - extra >= values);
    extras_[i].insert(extras_[i].end(), extra, extra + values);
    extra += values;
  }
  LRA_CHECK(extra == example.extra.end());
  split_.set_ambiguous_examples(split_.ambiguous_examples() + (example.is_ambiguous ? 1 : 0));
  fingerprint_.Update(digest.data(), digest.size());
  split_.set_examples(split_.examples() + 1);
  split_.set_label_count(example.label, split_.label_count(example.label) + 1);
  return shard_tokens_ < shard_tokens_limit_ ? absl::OkStatus() : CloseShard();
}

// The number of shards is not known yet, so files are named "of 0" until Finish.
absl::Status SplitWriter::WriteColumn(absl::string_view name, absl::string_view header,
                                      absl::string_view values, ManifestShard* shard) {
  ManifestFile* file = shard->add_files();
  file->set_name(std::string(name));  // holds the column's name until Finish
  const std::string path =
      JoinPath(directory_, ShardFileName(split_.name(), split_.shards_size() - 1, 0, name));
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  LRA_RETURN_IF_ERROR(writer.Write(header));
  LRA_RETURN_IF_ERROR(writer.Write(values));
  LRA_RETURN_IF_ERROR(writer.Close());
  file->set_size_bytes(writer.size_bytes());
  file->set_sha256(ToHex(writer.digest()));
  return absl::OkStatus();
}

absl::Status SplitWriter::WriteTokens(const Column& column, int index, ManifestShard* shard) {
  const bool bytes = StoresBytes(spec_);
  LRA_RETURN_IF_ERROR(WriteColumn(TokenColumns(spec_)[index],
                                  bytes ? HeaderOf(column.bytes) : HeaderOf(column.words),
                                  bytes ? BytesOf(column.bytes) : BytesOf(column.words), shard));
  return WriteColumn(OffsetColumns(spec_)[index], HeaderOf(column.offsets), BytesOf(column.offsets),
                     shard);
}

absl::Status SplitWriter::WriteExtras(ManifestShard* shard) {
  for (size_t i = 0; i < extras_.size(); ++i) {
    std::vector<int64_t> shape = {shard->examples()};
    for (int32_t n : extra_columns_[i].shape()) shape.push_back(n);
    LRA_RETURN_IF_ERROR(WriteColumn(extra_columns_[i].name(),
                                    FormatNpyHeader(NpyType::kInt16, shape), BytesOf(extras_[i]),
                                    shard));
    extras_[i].clear();
  }
  return absl::OkStatus();
}

absl::Status SplitWriter::CloseShard() {
  ManifestShard* shard = split_.add_shards();
  shard->set_examples(static_cast<int64_t>(labels_.size()));
  for (size_t i = 0; i < columns_.size(); ++i) {
    LRA_RETURN_IF_ERROR(WriteTokens(columns_[i], static_cast<int>(i), shard));
    columns_[i].bytes.clear();
    columns_[i].words.clear();
    columns_[i].offsets.assign(1, 0);
  }
  LRA_RETURN_IF_ERROR(WriteColumn(kLabelColumn, HeaderOf(labels_), BytesOf(labels_), shard));
  LRA_RETURN_IF_ERROR(WriteExtras(shard));
  split_.set_tokens(split_.tokens() + shard_tokens_);
  labels_.clear();
  shard_tokens_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<ManifestSplit> SplitWriter::Finish() {
  if (!labels_.empty()) LRA_RETURN_IF_ERROR(CloseShard());
  if (split_.shards_size() == 0) {
    return absl::FailedPreconditionError(absl::StrCat("split ", split_.name(), " has no examples"));
  }
  const int shards = split_.shards_size();
  for (int i = 0; i < shards; ++i) {
    for (ManifestFile& file : *split_.mutable_shards(i)->mutable_files()) {
      const std::string from = ShardFileName(split_.name(), i, 0, file.name());
      file.set_name(ShardFileName(split_.name(), i, shards, file.name()));
      std::error_code error;
      std::filesystem::rename(JoinPath(directory_, from), JoinPath(directory_, file.name()), error);
      if (error) {
        return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot name ", file.name()));
      }
    }
  }
  split_.set_content_fingerprint(ToHex(fingerprint_.Finish()));
  return std::move(split_);
}

}  // namespace lra
