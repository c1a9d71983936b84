// `lra data import`: makes a data-only task (tasks/data_only.h) of labelled texts.
#ifndef LRA_TASKS_TEXT_IMPORT_H_
#define LRA_TASKS_TEXT_IMPORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tasks/own_import.h"
#include "tasks/text_rows.h"

namespace lra {

// How much of a text models read where nobody says: what the Long-Range Arena reads of a review.
inline constexpr int64_t kUsualTextTokens = 4000;

struct TextImportOptions : ImportOptions {
  TextFields fields;
};

// Writes a folder with the data and its rules, whole or not at all. Examples keep the order of
// their files. Labels are numbered in the order of their bytes or, where all are whole numbers, of
// the numbers; Manifest.class_names has them. Every file is read twice. InvalidArgument for names,
// flags and columns, and where no example would validate; NotFound for missing files; AlreadyExists
// for a folder that holds something; DataLoss names file and line of what is wrong inside a file.
absl::StatusOr<ImportedData> ImportTexts(const TextImportOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_TEXT_IMPORT_H_
