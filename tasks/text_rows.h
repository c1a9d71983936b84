// Labelled texts as people keep them: a table, a file with a JSON object on each line, or a folder
// with a sub-folder for each class. `lra data import` makes data of them (tasks/text_import.h).
#ifndef LRA_TASKS_TEXT_ROWS_H_
#define LRA_TASKS_TEXT_ROWS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "datasets/manifest.pb.h"

namespace lra {

struct TextRow {
  // What stands in the file, byte for byte; neither is empty.
  std::string label, text;
  std::string where;  // "reviews.csv: line 17", "reviews/pos/3.txt"
};

// Where labels and texts stand in tables and JSON objects. The texts of a folder are its files, and
// their labels the names of their folders.
struct TextFields {
  // Names: of columns of a table, of fields of an object. Without a header they are the numbers of
  // columns, counted from 1.
  std::string label = "label", text = "text";
  // Whether the first row of a table names its columns.
  bool has_header = true;
};

// Not thread-safe. Memory: one text; files are mapped.
class TextRows {
 public:
  virtual ~TextRows() = default;
  // The next text in the order of the file, or of the paths of a folder; nullopt at the end.
  // DataLoss or InvalidArgument names file, line and column, what stands there and what would be
  // right.
  virtual absl::StatusOr<std::optional<TextRow>> Next() = 0;
  // To be called after the end: name, size and SHA-256 of what was read.
  virtual ManifestSource Source() const = 0;
};

// Opens what the name of a file says: .csv or .tsv (tasks/csv_reader.h, but the last line may lack
// its end), .jsonl, .ndjson or .json, where labels may be numbers, true or false (1.50 is "1.5",
// and 1.0 is not 1), or a folder, where names that begin with a dot are passed over. NotFound for a
// missing path, InvalidArgument for another name and for columns that a table does not have.
absl::StatusOr<std::unique_ptr<TextRows>> OpenTextRows(const std::string& path,
                                                       const TextFields& fields);

}  // namespace lra

#endif  // LRA_TASKS_TEXT_ROWS_H_
