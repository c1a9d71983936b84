#include "tasks/csv_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/check.h"
#include "lra/excerpt.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

bool LooksQuoted(absl::string_view field) {
  if (!absl::ConsumePrefix(&field, "\"") || !absl::ConsumeSuffix(&field, "\"")) return false;
  bool has_doubled = false;
  while (!field.empty()) {
    if (absl::ConsumePrefix(&field, "\"\"")) {
      has_doubled = true;
      continue;
    }
    if (field.front() == '"') return false;
    field.remove_prefix(1);
  }
  return has_doubled;
}

}  // namespace

absl::Status CheckUnquoted(const CsvRow& row) {
  for (size_t i = 0; i < row.fields.size(); ++i) {
    if (!LooksQuoted(row.fields[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", row.line, ", column ", i + 1, ": ", Excerpt(row.fields[i]),
        " is quoted as in a .csv, but the quotes of a .tsv are a part of the text; write the table "
        "without quoting (in Python csv.QUOTE_NONE), or as .csv"));
  }
  return absl::OkStatus();
}

CsvReader::CsvReader(TableDialect dialect, int columns)
    : dialect_(dialect),
      columns_(static_cast<size_t>(columns)),
      separator_(dialect == TableDialect::kCsv ? ',' : '\t') {
  LRA_CHECK(columns >= 0) << columns;
  row_.line = 1;
}

void CsvReader::Feed(absl::string_view block) {
  LRA_CHECK(block_.empty() || !error_.ok()) << "the former block was not used up";
  block_ = block;
}

absl::StatusOr<std::optional<CsvRow>> CsvReader::Next() {
  LRA_RETURN_IF_ERROR(error_);
  while (!block_.empty()) {
    const absl::StatusOr<bool> ended = Step();
    error_ = ended.status();
    LRA_RETURN_IF_ERROR(error_);
    if (!*ended) continue;
    CsvRow row = std::exchange(row_, CsvRow());
    row_.line = line_;
    return row;
  }
  return std::nullopt;
}

absl::Status CsvReader::Finish() const {
  LRA_RETURN_IF_ERROR(error_);
  LRA_CHECK(block_.empty()) << "the last block was not used up";
  if (state_ == State::kQuoted) return Error(quote_line_, "the quote is never closed");
  if (row_.fields.empty() && field_.empty() && !quoted_) return absl::OkStatus();
  return Error(line_, "the last line has no line end: the file was cut off");
}

absl::StatusOr<bool> CsvReader::Step() {
  switch (state_) {
    case State::kPlain:
      return StepPlain();
    case State::kQuoted:
      return StepQuoted();
    default:
      return StepAfterQuote();
  }
}

absl::StatusOr<bool> CsvReader::StepPlain() {
  const bool quotes = dialect_ == TableDialect::kCsv;
  const auto end = std::find_if(block_.begin(), block_.end(), [&](char byte) {
    return byte == separator_ || byte == '\n' || (quotes && byte == '"');
  });
  const size_t size_bytes = end - block_.begin();
  LRA_RETURN_IF_ERROR(Append(block_.substr(0, size_bytes)));
  block_.remove_prefix(size_bytes);
  if (block_.empty()) return false;
  if (block_[0] == '\n') return EndRow();
  if (block_[0] == separator_) return EndField();
  if (!field_.empty() && !(first_field_ && field_ == kByteOrderMark)) {
    return Error(line_, "a quote inside a field without quotes; quote the field, double the quote");
  }
  block_.remove_prefix(1);
  field_.clear();
  quoted_ = true;
  quote_line_ = line_;
  state_ = State::kQuoted;
  return false;
}

absl::StatusOr<bool> CsvReader::StepQuoted() {
  const absl::string_view text = block_.substr(0, block_.find('"'));
  LRA_RETURN_IF_ERROR(Append(text));
  line_ += std::count(text.begin(), text.end(), '\n');
  block_.remove_prefix(text.size());
  if (block_.empty()) return false;
  block_.remove_prefix(1);
  state_ = State::kAfterQuote;
  return false;
}

absl::StatusOr<bool> CsvReader::StepAfterQuote() {
  const char byte = block_[0];
  if (byte == '\n') return EndRow();
  if (state_ == State::kAfterQuote) {
    if (byte == separator_) return EndField();
    if (byte == '"' || byte == '\r') {
      block_.remove_prefix(1);
      if (byte == '"') LRA_RETURN_IF_ERROR(Append("\""));
      state_ = byte == '"' ? State::kQuoted : State::kAfterQuoteReturn;
      return false;
    }
  }
  return Error(
      line_,
      absl::StrCat(Excerpt(block_.substr(0, 1)),
                   " behind the closing quote; a separator, a line end or a "
                   "second quote is expected",
                   byte == ';' || byte == '\t' ? "; a .csv has commas between its columns" : ""));
}

absl::StatusOr<bool> CsvReader::EndField() {
  const size_t most = columns_ == 0 ? kMaxTableColumns : columns_;
  if (row_.fields.size() + 1 == most) {
    return Error(line_, absl::StrCat("a further column follows; ", columns_ == 0 ? "at most " : "",
                                     most, " are expected"));
  }
  block_.remove_prefix(1);
  PushField();
  return false;
}

absl::StatusOr<bool> CsvReader::EndRow() {
  if (!quoted_ && absl::EndsWith(field_, "\r")) field_.pop_back();
  const bool is_empty = row_.fields.empty() && field_.empty() && !quoted_;
  if (!is_empty && columns_ != 0 && row_.fields.size() + 1 != columns_) {
    return Error(line_, absl::StrCat("the row ends; ", columns_, " columns are expected"));
  }
  block_.remove_prefix(1);
  ++line_;
  if (is_empty) {
    row_.line = line_;
    return false;
  }
  PushField();
  columns_ = row_.fields.size();
  return true;
}

absl::Status CsvReader::Append(absl::string_view bytes) {
  if (bytes.size() > kMaxFieldBytes - field_.size()) {
    return Error(quoted_ ? quote_line_ : line_,
                 absl::StrCat("the field is longer than ", kMaxFieldBytes, " bytes",
                              quoted_ ? "; is the quote not closed?" : ""));
  }
  field_.append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

void CsvReader::PushField() {
  if (first_field_ && !quoted_ && absl::StartsWith(field_, kByteOrderMark)) {
    field_.erase(0, kByteOrderMark.size());
  }
  first_field_ = quoted_ = false;
  state_ = State::kPlain;
  row_.fields.push_back(std::exchange(field_, std::string()));
}

absl::Status CsvReader::Error(int64_t line, absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", row_.fields.size() + 1, ": ", what));
}

}  // namespace lra
