// `lra data import`: makes a data-only task (tasks/data_only.h) of labelled texts.
#ifndef LRA_TASKS_TEXT_IMPORT_H_
#define LRA_TASKS_TEXT_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/manifest.pb.h"
#include "lra/config.pb.h"
#include "tasks/text_rows.h"

namespace lra {

// How much of a text models read where nobody says: what the Long-Range Arena reads of a review.
inline constexpr int64_t kUsualTextTokens = 4000;

struct TextImportOptions {
  std::string task;
  // Files or folders (tasks/text_rows.h): train, test and perhaps validation; or all, one pool.
  std::string train, validation, test, all;
  TextFields fields;
  // How many bytes of a text models read; 0 = kUsualTextTokens. Texts are stored whole.
  int64_t max_length_tokens = 0;
  std::string out;  // empty = DefaultDataDirectory
  int threads = 0;
  bool quiet = false;
};

struct TextImport {
  std::string directory, rules_path;
  Manifest manifest;
  DataView view;  // of the rules
  // How many texts are longer than what models read of them.
  int64_t longer_texts = 0;
  // How many examples the view's validation split has.
  int64_t validation_examples = 0;
  // What a user should know, without a period.
  std::vector<std::string> notes;
};

// Writes a folder with the data and its rules, whole or not at all. Examples keep the order of
// their files. Labels are numbered in the order of their bytes or, where all are whole numbers, of
// the numbers; Manifest.class_names has them. Every file is read twice. InvalidArgument for names,
// flags and columns, and where no example would validate; NotFound for missing files; AlreadyExists
// for a folder that holds something; DataLoss names file and line of what is wrong inside a file.
absl::StatusOr<TextImport> ImportTexts(const TextImportOptions& options);

}  // namespace lra

#endif  // LRA_TASKS_TEXT_IMPORT_H_
