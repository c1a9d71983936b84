#include "tasks/text/review_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "tasks/csv_reader.h"
#include "tasks/raw_files.h"
#include "tasks/text/review_path.h"
#include "tasks/text/table_row.h"

namespace lra::text {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 16;
constexpr const char* kSplits[] = {"train", "test"};
constexpr const char* kFolders[] = {"neg", "pos"};

// Rows and reviews are ordered by (split, number).
uint64_t Key(int split, uint64_t number) { return (static_cast<uint64_t>(split) << 40) | number; }

// The name of a table: "train.csv", "test.tsv".
struct TableName {
  int split = 0;
  TableDialect dialect = TableDialect::kCsv;
};

std::optional<TableName> ParseTableName(absl::string_view path) {
  absl::string_view name = path.substr(path.rfind('/') + 1);
  TableName table;
  if (absl::ConsumeSuffix(&name, ".tsv")) {
    table.dialect = TableDialect::kTsv;
  } else if (!absl::ConsumeSuffix(&name, ".csv")) {
    return std::nullopt;
  }
  if (name != "train" && name != "test") return std::nullopt;
  table.split = name == "test" ? 1 : 0;
  return table;
}

class ReviewReader : public RawReader {
 public:
  ReviewReader(std::unique_ptr<RawSource> source, size_t max_review_bytes)
      : source_(std::move(source)), max_review_bytes_(max_review_bytes) {}

  bool is_ordered() const override { return false; }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (true) {
      if (table_ != nullptr) {
        LRA_ASSIGN_OR_RETURN(std::optional<RawExample> row, NextRow());
        if (row.has_value()) return row;
        LRA_RETURN_IF_ERROR(CloseTable());
      }
      LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) {
        LRA_RETURN_IF_ERROR(Close());
        return std::nullopt;
      }
      entry_ = *std::move(entry);
      if (const std::optional<TableName> name = ParseTableName(entry_.name)) {
        LRA_RETURN_IF_ERROR(OpenTable(*name));
        continue;
      }
      absl::StatusOr<std::optional<ReviewPath>> path = ParseReviewPath(entry_.name);
      if (!path.ok()) return absl::DataLossError(path.status().message());
      if (path->has_value()) return ReadReview(**path);
    }
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<OrderedExample> order;
    for (uint64_t key : keys_) order.push_back({key, static_cast<int>(key >> 40), std::nullopt});
    std::sort(order.begin(), order.end(),
              [](const OrderedExample& a, const OrderedExample& b) { return a.key < b.key; });
    return order;
  }

 private:
  absl::Status OneLayout(bool table) {
    if (keys_.empty()) reads_tables_ = table;
    if (reads_tables_ == table) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(source_->name(), " holds both a tree of reviews and tables: ", entry_.name));
  }

  absl::Status AddKey(uint64_t key) {
    if (keys_.insert(key).second) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(entry_.name, ": another review of this split and class has the same id"));
  }

  // --- A tree of reviews ---

  absl::StatusOr<std::optional<RawExample>> ReadReview(const ReviewPath& path) {
    LRA_RETURN_IF_ERROR(OneLayout(false));
    RawExample raw;
    raw.split = path.is_test ? 1 : 0;
    raw.label = path.label;
    raw.where = entry_.name;
    raw.key = Key(raw.split, static_cast<uint64_t>(path.id) * 2 + path.label);
    LRA_RETURN_IF_ERROR(AddKey(raw.key));
    LRA_ASSIGN_OR_RETURN(raw.bytes, ReadWholeEntry(source_.get(), entry_, max_review_bytes_));
    folders_[{raw.split, raw.label}].Add(raw.key, raw.bytes);
    return raw;
  }

  // --- Tables ---

  absl::Status OpenTable(const TableName& name) {
    LRA_RETURN_IF_ERROR(OneLayout(true));
    if (tables_seen_[name.split]) {
      return absl::DataLossError(
          absl::StrCat(entry_.name, ": there is another table of split ", kSplits[name.split]));
    }
    tables_seen_[name.split] = true;
    dialect_ = name.dialect;
    table_ = std::make_unique<CsvReader>(dialect_, kTableColumns);
    split_ = name.split;
    rows_ = 0;
    size_bytes_ = 0;
    block_.clear();
    layout_.reset();
    return absl::OkStatus();
  }

  absl::Status Annotate(const absl::Status& status) const {
    return absl::DataLossError(absl::StrCat(entry_.name, ": ", status.message()));
  }

  // Returns nullopt at the end of the table.
  absl::StatusOr<std::optional<CsvRow>> NextCsvRow() {
    while (true) {
      absl::StatusOr<std::optional<CsvRow>> row = table_->Next();
      if (!row.ok()) return Annotate(row.status());
      if (row->has_value()) {
        if (dialect_ == TableDialect::kCsv) return row;
        const absl::Status unquoted = CheckUnquoted(**row);
        if (!unquoted.ok()) return Annotate(unquoted);
        return row;
      }
      block_.resize(kBlockBytes);
      LRA_ASSIGN_OR_RETURN(const size_t count, source_->Read(block_.data(), block_.size()));
      block_.resize(count);
      if (count == 0) {
        if (absl::Status end = table_->Finish(); !end.ok()) return Annotate(end);
        return std::nullopt;
      }
      hash_.Update(block_.data(), count);
      size_bytes_ += static_cast<int64_t>(count);
      table_->Feed(block_);
    }
  }

  absl::StatusOr<std::optional<RawExample>> NextRow() {
    LRA_ASSIGN_OR_RETURN(std::optional<CsvRow> row, NextCsvRow());
    if (row.has_value() && !layout_.has_value()) {
      absl::StatusOr<TableLayout> layout = DetectLayout(*row);
      if (!layout.ok()) return Annotate(layout.status());
      layout_ = *layout;
      if (layout_->has_header) {
        LRA_ASSIGN_OR_RETURN(row, NextCsvRow());
      }
    }
    if (!row.has_value()) return std::nullopt;
    absl::StatusOr<LabelledText> text = ParseTableRow(*layout_, *std::move(row));
    if (!text.ok()) return Annotate(text.status());
    RawExample raw;
    raw.split = split_;
    raw.label = text->label;
    raw.bytes = std::move(text->text);
    raw.where = absl::StrCat(entry_.name, ":", text->line);
    raw.key = Key(split_, static_cast<uint64_t>(rows_++));
    LRA_RETURN_IF_ERROR(AddKey(raw.key));
    return raw;
  }

  absl::Status CloseTable() {
    table_ = nullptr;
    if (rows_ == 0) {
      return absl::DataLossError(absl::StrCat(entry_.name, ": the table has no examples"));
    }
    ManifestSource source;
    source.set_name(entry_.name.substr(entry_.name.rfind('/') + 1));
    source.set_size_bytes(size_bytes_);
    source.set_sha256(ToHex(hash_.Finish()));
    sources_.push_back(std::move(source));
    return absl::OkStatus();
  }

  // --- The end ---

  absl::Status Close() {
    if (keys_.empty()) {
      return absl::NotFoundError(
          absl::StrCat(source_->name(),
                       " has neither reviews (train/pos/ID_RATING.txt ...) nor train.csv and "
                       "test.csv (or .tsv)"));
    }
    for (int split = 0; split < 2; ++split) {
      if (reads_tables_ && !tables_seen_[split]) {
        return absl::NotFoundError(absl::StrCat(source_->name(), " has no table ", kSplits[split],
                                                ".csv or ", kSplits[split], ".tsv"));
      }
      for (int label = 0; label < 2 && !reads_tables_; ++label) {
        const std::string name = absl::StrCat(kSplits[split], "/", kFolders[label]);
        const FileSet& folder = folders_[{split, label}];
        if (folder.empty()) {
          return absl::NotFoundError(
              absl::StrCat(source_->name(), " has no reviews in ", name, "/"));
        }
        sources_.push_back(folder.Source(name));
      }
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const size_t max_review_bytes_;
  RawEntry entry_;
  std::vector<ManifestSource> sources_;
  absl::flat_hash_set<uint64_t> keys_;
  bool reads_tables_ = false;
  std::map<std::pair<int, int>, FileSet> folders_;  // by split and label
  // The current table, if any.
  std::unique_ptr<CsvReader> table_;
  TableDialect dialect_ = TableDialect::kCsv;
  bool tables_seen_[2] = {false, false};
  std::optional<TableLayout> layout_;
  int split_ = 0;
  int64_t rows_ = 0, size_bytes_ = 0;
  std::string block_;
  Sha256 hash_;
};

}  // namespace

std::unique_ptr<RawReader> MakeReviewReader(std::unique_ptr<RawSource> source,
                                            size_t max_review_bytes) {
  return std::make_unique<ReviewReader>(std::move(source), max_review_bytes);
}

}  // namespace lra::text
