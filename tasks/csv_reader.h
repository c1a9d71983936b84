// Tables of comma-separated (RFC 4180) or tab-separated values, read in blocks.
//
//   CsvReader reader(TableDialect::kCsv, 2);
//   while (size_t count = ...) {
//     reader.Feed({buffer, count});
//     while (true) {
//       LRA_ASSIGN_OR_RETURN(const std::optional<CsvRow> row, reader.Next());
//       if (!row.has_value()) break;
//       ...
//     }
//   }
//   LRA_RETURN_IF_ERROR(reader.Finish());
#ifndef LRA_TASKS_CSV_READER_H_
#define LRA_TASKS_CSV_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

// A longer field is an error, so a quote that is never closed takes no more memory than this.
inline constexpr size_t kMaxFieldBytes = size_t{4} << 20;
// More columns are an error where their number is not known before.
inline constexpr size_t kMaxTableColumns = 1000;

// What programs write in front of UTF-8.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class TableDialect {
  // A field may stand in double quotes; then it may contain commas, line ends and doubled quotes.
  kCsv,
  // Fields are separated by tabs; a quote is a byte like any other.
  kTsv,
};

struct CsvRow {
  std::vector<std::string> fields;
  int64_t line = 0;  // where the row began, counted from 1
};

// For rows of a .tsv, where a quote is a byte like any other: InvalidArgument, with line and
// column, if a field was quoted as in a .csv. It begins and ends with a quote and has doubled ones
// inside, but no single one, as Python's csv.writer writes it; the quotes would become a part of
// the text.
absl::Status CheckUnquoted(const CsvRow& row);

// Lines end with LF or CR LF, also the last one (otherwise the file was cut off); line ends inside
// quotes are kept. Empty lines and a UTF-8 byte order mark are skipped. All other bytes are kept,
// even NUL and invalid UTF-8. A quote inside a field without quotes is an error, because its
// meaning is unclear; most other readers accept it. Not thread-safe. Memory: one row of `columns`
// fields of at most kMaxFieldBytes.
class CsvReader {
 public:
  // Every row must have `columns` fields; 0 = as many as the first row.
  CsvReader(TableDialect dialect, int columns);

  // Passes the next bytes of the file. They are used until Next returns nullopt, which must happen
  // before the next Feed.
  void Feed(absl::string_view block);
  // The next row that ends in the block, or nullopt when the block is used up. InvalidArgument
  // names line and column (both counted from 1) and what was found; later calls return the same
  // error.
  absl::StatusOr<std::optional<CsvRow>> Next();
  // To be called after the last block was used up: an error if it ended inside a row.
  absl::Status Finish() const;

 private:
  enum class State { kPlain, kQuoted, kAfterQuote, kAfterQuoteReturn };

  // Consumes a part of the block; returns true at the end of a row.
  absl::StatusOr<bool> Step();
  absl::StatusOr<bool> StepPlain();
  absl::StatusOr<bool> StepQuoted();
  absl::StatusOr<bool> StepAfterQuote();
  absl::StatusOr<bool> EndField();
  absl::StatusOr<bool> EndRow();
  absl::Status Append(absl::string_view bytes);
  void PushField();
  absl::Status Error(int64_t line, absl::string_view what) const;

  const TableDialect dialect_;
  size_t columns_;  // 0 until the first row has said how many
  const char separator_;
  absl::string_view block_;  // the rest of the block
  State state_ = State::kPlain;
  bool first_field_ = true;  // of the file
  bool quoted_ = false;      // whether the current field is quoted
  std::string field_;
  CsvRow row_;
  int64_t line_ = 1, quote_line_ = 1;
  absl::Status error_;
};

}  // namespace lra

#endif  // LRA_TASKS_CSV_READER_H_
