#include "tasks/text_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "datasets/archive.h"
#include "datasets/code_points.h"
#include "datasets/mapped_file.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "tasks/csv_reader.h"
#include "tasks/file_kind.h"
#include "tasks/json_line.h"
#include "tasks/raw_files.h"

namespace lra {
namespace {

constexpr size_t kTableBlockBytes = size_t{1} << 16;
// How many names of columns a message lists.
constexpr size_t kColumnsNamed = 20;

absl::Status BadRow(absl::string_view where, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(where, ": ", what));
}

// Blanks around a label, as behind the commas of "text, label", would make a class of their own.
// The places say where label and text stand, as in " in column 2".
absl::StatusOr<std::optional<TextRow>> CompleteRow(TextRow row, absl::string_view label_place,
                                                   absl::string_view text_place) {
  absl::StripAsciiWhitespace(&row.label);
  if (row.label.empty() || row.text.empty()) {
    return BadRow(row.where,
                  absl::StrCat(row.label.empty() ? "the label" : "the text",
                               row.label.empty() ? label_place : text_place,
                               " is empty; give the example one, or leave the example out"));
  }
  return row;
}

// Names of columns and fields come from files and command lines of any encoding, and are a whole
// text where a table has no header.
std::string ShownField(const std::string& name) {
  return HasReplacement(name) ? Excerpt(name) : QuotedName(name, kExcerptOfBytes);
}

// "\"id\", \"review\"", for messages.
std::string NamesText(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kColumnsNamed);
  const std::vector<std::string> first(names.begin(), names.begin() + shown);
  return absl::StrCat(absl::StrJoin(first, ", ",
                                    [](std::string* out, const std::string& name) {
                                      absl::StrAppend(out, ShownField(name));
                                    }),
                      shown < names.size() ? ", ..." : "");
}

// --- Tables ---

// What to do about a row that is one field because its columns stand apart by something else; empty
// where it does not look so.
std::string SeparatorAdvice(const CsvRow& row, TableDialect dialect) {
  if (row.fields.size() != 1) return "";
  const bool is_csv = dialect == TableDialect::kCsv;
  for (const char* other : {";", is_csv ? "\t" : ","}) {
    if (!absl::StrContains(row.fields[0], other)) continue;
    return absl::StrCat("; the row is one column with ", Excerpt(other), " inside: a ",
                        is_csv ? ".csv has commas between its columns, a .tsv has tabs"
                               : ".tsv has tabs between its columns, a .csv has commas");
  }
  return "";
}

class TableRows : public TextRows {
 public:
  TableRows(std::string path, MappedFile file, TableDialect dialect)
      : path_(std::move(path)),
        file_(std::move(file)),
        rest_(file_.bytes()),
        dialect_(dialect),
        reader_(dialect, /*columns=*/0) {}

  // To be called once, before Next.
  absl::Status Begin(const TextFields& fields) {
    if (fields.has_header) {
      LRA_ASSIGN_OR_RETURN(const std::optional<CsvRow> header, NextRow());
      if (!header.has_value()) {
        return BadRow(path_, "the table is empty; its first row names the columns");
      }
      LRA_ASSIGN_OR_RETURN(label_, ColumnNamed(*header, fields.label, "--label"));
      LRA_ASSIGN_OR_RETURN(text_, ColumnNamed(*header, fields.text, "--text"));
      header_ = *header;
    } else {
      LRA_ASSIGN_OR_RETURN(label_, ColumnNumbered(fields.label, "--label"));
      LRA_ASSIGN_OR_RETURN(text_, ColumnNumbered(fields.text, "--text"));
    }
    if (label_ == text_) {
      return absl::InvalidArgumentError(absl::StrCat("--label and --text are both column ",
                                                     ShownField(fields.label),
                                                     "; they are two columns"));
    }
    label_place_ = absl::StrCat(" in column ", label_ + 1);
    text_place_ = absl::StrCat(" in column ", text_ + 1);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<TextRow>> Next() override {
    LRA_ASSIGN_OR_RETURN(std::optional<CsvRow> row, NextRow());
    if (!row.has_value()) return std::nullopt;
    const std::string where = absl::StrCat(path_, ": line ", row->line);
    LRA_RETURN_IF_ERROR(CheckNoHeader(*row, where));
    const size_t last = std::max(label_, text_);
    if (last >= row->fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": the row has ", row->fields.size(), " columns, no column ", last + 1,
          "; --label and --text number the columns from 1", SeparatorAdvice(*row, dialect_)));
    }
    return CompleteRow({std::move(row->fields[label_]), std::move(row->fields[text_]), where},
                       label_place_, text_place_);
  }

  ManifestSource Source() const override { return SourceOfFile(path_, file_.bytes()); }

 private:
  // That of a second file would make a class of its name.
  absl::Status CheckNoHeader(const CsvRow& row, absl::string_view where) const {
    const std::vector<std::string>& names = header_.fields;
    absl::string_view first = row.fields[0];
    absl::ConsumePrefix(&first, kByteOrderMark);
    if (names.empty() || first != names[0] ||
        !std::equal(row.fields.begin() + 1, row.fields.end(), names.begin() + 1, names.end()))
      return absl::OkStatus();
    return BadRow(where, absl::StrCat("the row is the header of line ", header_.line,
                                      " again, as where two tables were joined; leave it out"));
  }

  absl::StatusOr<size_t> ColumnNamed(const CsvRow& header, const std::string& name,
                                     absl::string_view flag) const {
    const auto begin = header.fields.begin(), end = header.fields.end();
    const auto found = std::find(begin, end, name);
    const std::string where = absl::StrCat(path_, ": line ", header.line);
    if (found == end) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": the header has no column ", ShownField(name), " but ",
                       NamesText(header.fields), "; ", flag,
                       " takes one of them, or, where this row is no header, a number beside "
                       "--no-header",
                       SeparatorAdvice(header, dialect_)));
    }
    if (std::find(found + 1, end, name) != end) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": the header has two columns ",
                                                     ShownField(name), "; each name stands once"));
    }
    return static_cast<size_t>(found - begin);
  }

  static absl::StatusOr<size_t> ColumnNumbered(const std::string& number, absl::string_view flag) {
    int column = 0;
    if (absl::SimpleAtoi(number, &column) && column >= 1) return static_cast<size_t>(column - 1);
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " is ", ShownField(number),
                     ", beside --no-header it is the number of a column, counted from 1"));
  }

  absl::StatusOr<std::optional<CsvRow>> NextRow() {
    while (true) {
      absl::StatusOr<std::optional<CsvRow>> row = reader_.Next();
      if (!row.ok()) return BadRow(path_, row.status().message());
      if (row->has_value()) {
        const absl::Status unquoted =
            dialect_ == TableDialect::kTsv ? CheckUnquoted(**row) : absl::OkStatus();
        if (!unquoted.ok()) return BadRow(path_, unquoted.message());
        return row;
      }
      const absl::string_view block = NextBlock();
      if (block.empty()) {
        const absl::Status end = reader_.Finish();
        if (!end.ok()) return BadRow(path_, end.message());
        return std::nullopt;
      }
      reader_.Feed(block);
    }
  }

  // Empty at the end. Programs and people leave out the end of the last line.
  absl::string_view NextBlock() {
    const absl::string_view block = rest_.substr(0, kTableBlockBytes);
    rest_.remove_prefix(block.size());
    if (!block.empty()) return block;
    const bool lacks_end = !file_.bytes().empty() && !absl::EndsWith(file_.bytes(), "\n");
    return lacks_end && !std::exchange(is_ended_, true) ? "\n" : "";
  }

  const std::string path_;
  const MappedFile file_;
  absl::string_view rest_;
  const TableDialect dialect_;
  CsvReader reader_;
  bool is_ended_ = false;  // whether the last line got the end that it lacked
  CsvRow header_;          // without fields where there is none
  size_t label_ = 0, text_ = 0;
  std::string label_place_, text_place_;
};

// --- Objects ---

// From here on whole numbers that JSON writes without quotes may be read as one.
constexpr double kMostExact = 9007199254740992;  // 2^53

class JsonRows : public TextRows {
 public:
  JsonRows(std::string path, MappedFile file, const TextFields& fields)
      : path_(std::move(path)), file_(std::move(file)), rest_(file_.bytes()), fields_(fields) {}

  absl::StatusOr<std::optional<TextRow>> Next() override {
    while (!rest_.empty()) {
      ++line_;
      const size_t end = rest_.find('\n');
      const absl::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == absl::string_view::npos ? rest_.size() : end + 1);
      if (absl::StripAsciiWhitespace(line).empty()) continue;
      return RowOf(line);
    }
    return std::nullopt;
  }

  ManifestSource Source() const override { return SourceOfFile(path_, file_.bytes()); }

 private:
  std::string Where() const { return absl::StrCat(path_, ": line ", line_); }

  absl::StatusOr<std::optional<TextRow>> RowOf(absl::string_view line) const {
    nlohmann::json object;
    LRA_RETURN_IF_ERROR(ParseJsonLine(Where(), line, &object));
    TextRow row;
    row.where = Where();
    LRA_ASSIGN_OR_RETURN(row.label, LabelOf(object));
    LRA_ASSIGN_OR_RETURN(row.text, TextOf(object));
    return CompleteRow(std::move(row), absl::StrCat(" in field ", ShownField(fields_.label)),
                       absl::StrCat(" in field ", ShownField(fields_.text)));
  }

  absl::Status CheckField(const nlohmann::json& object, const std::string& name,
                          absl::string_view flag) const {
    if (object.contains(name)) return absl::OkStatus();
    std::vector<std::string> names;
    for (auto it = object.begin(); it != object.end(); ++it) names.push_back(it.key());
    return absl::InvalidArgumentError(absl::StrCat(
        Where(), ": the object has no field ", ShownField(name),
        names.empty() ? "" : absl::StrCat(" but ", NamesText(names)), "; ", flag, " names it"));
  }

  absl::StatusOr<std::string> LabelOf(const nlohmann::json& object) const {
    LRA_RETURN_IF_ERROR(CheckField(object, fields_.label, "--label"));
    const nlohmann::json& label = object.at(fields_.label);
    if (label.is_string()) return label.get<std::string>();
    if (label.is_number_float() && std::abs(label.get<double>()) >= kMostExact) {
      return BadRow(Where(), absl::StrCat("the label in field ", ShownField(fields_.label), " is ",
                                          JsonText(label, -1),
                                          ", which has too many digits to be told from its "
                                          "neighbours; write it in quotes"));
    }
    if (label.is_number() || label.is_boolean()) return JsonText(label, -1);
    return WrongKind("the label", fields_.label, label, "a string, a number, true or false");
  }

  absl::StatusOr<std::string> TextOf(const nlohmann::json& object) const {
    LRA_RETURN_IF_ERROR(CheckField(object, fields_.text, "--text"));
    const nlohmann::json& text = object.at(fields_.text);
    if (text.is_string()) return text.get<std::string>();
    return WrongKind("the text", fields_.text, text, "a string");
  }

  absl::Status WrongKind(absl::string_view what, const std::string& name,
                         const nlohmann::json& value, absl::string_view expected) const {
    // Lists and objects are not shown: their text is made by recursion, as deep as the file says.
    const std::string shown =
        value.is_structured() ? "" : absl::StrCat(" ", Excerpt(JsonText(value, -1)));
    return BadRow(Where(), absl::StrCat(what, " in field ", ShownField(name), " is the ",
                                        value.type_name(), shown, "; ", expected, " is expected"));
  }

  const std::string path_;
  const MappedFile file_;
  absl::string_view rest_;
  const TextFields fields_;
  int64_t line_ = 0;
};

// --- Folders ---

class FolderRows : public TextRows {
 public:
  FolderRows(std::string path, std::unique_ptr<RawSource> source)
      : path_(std::move(path)), source_(std::move(source)) {}

  absl::StatusOr<std::optional<TextRow>> Next() override {
    while (true) {
      LRA_ASSIGN_OR_RETURN(const std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) return std::nullopt;
      if (IsHidden(entry->name)) continue;
      const std::vector<std::string> parts = absl::StrSplit(entry->name, '/');
      TextRow row;
      row.where = JoinPath(path_, entry->name);
      if (parts.size() != 2) {
        return BadRow(row.where,
                      "is no text of a class; a folder has one sub-folder for each class, named "
                      "as the class is, and there one file for each text");
      }
      // The source escapes what is not printed, and quotes.
      if (!absl::CUnescape(parts[0], &row.label)) row.label = parts[0];
      absl::StatusOr<std::string> text = ReadWholeEntry(source_.get(), *entry, kMaxFieldBytes);
      LRA_RETURN_IF_ERROR(Annotate(text.status(), path_));
      row.text = *std::move(text);
      LRA_RETURN_IF_ERROR(CheckIsText(row.where, row.text));
      files_.Add(files_read_++, row.text);
      return CompleteRow(std::move(row), "", "");
    }
  }

  ManifestSource Source() const override { return files_.Source(LastPartOf(path_)); }

 private:
  const std::string path_;
  const std::unique_ptr<RawSource> source_;
  FileSet files_;
  uint64_t files_read_ = 0;
};

absl::Status CheckHasRows(const std::string& path, const TextFields& fields) {
  if (fields.has_header) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--no-header is about tables, and \"", path, "\" is none; leave it out"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TextRows>> OpenTextRows(const std::string& path,
                                                       const TextFields& fields) {
  if (!FileExists(path)) {
    return absl::NotFoundError(absl::StrCat("no file or folder \"", path, "\""));
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    LRA_RETURN_IF_ERROR(CheckHasRows(path, fields));
    LRA_ASSIGN_OR_RETURN(std::unique_ptr<RawSource> source, OpenRawSource(path));
    return std::make_unique<FolderRows>(path, std::move(source));
  }
  const std::string name = absl::AsciiStrToLower(path);
  const auto ends = [&name](absl::string_view ending) { return absl::EndsWith(name, ending); };
  const bool is_table = ends(".csv") || ends(".tsv");
  if (!is_table && !ends(".jsonl") && !ends(".ndjson") && !ends(".json")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", path,
        "\": its name does not say what it is; .csv, .tsv, .jsonl (or .ndjson, "
        ".json), a folder with a sub-folder for each class, or .npz (arrays) is expected"));
  }
  if (!is_table) LRA_RETURN_IF_ERROR(CheckHasRows(path, fields));
  if (!is_table && fields.label == fields.text) {
    return absl::InvalidArgumentError(absl::StrCat("--label and --text both name the field ",
                                                   ShownField(fields.label), "; give two"));
  }
  LRA_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  LRA_RETURN_IF_ERROR(CheckIsTextTable(path, file.bytes()));
  if (!is_table) return std::make_unique<JsonRows>(path, std::move(file), fields);
  auto rows = std::make_unique<TableRows>(path, std::move(file),
                                          ends(".csv") ? TableDialect::kCsv : TableDialect::kTsv);
  LRA_RETURN_IF_ERROR(rows->Begin(fields));
  return rows;
}

}  // namespace lra
