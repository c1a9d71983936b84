#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tasks/pathfinder/metadata.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(metadata) {
  const auto rows = lra::pathfinder::ParseMetadata(input, "0.npy");
  if (!rows.ok()) {
    LRA_CHECK(rows.status().message().size() < 500);
    return;
  }
  const std::vector<std::string> lines = absl::StrSplit(input, '\n');
  std::string text;
  int64_t line = 0;
  for (const auto& row : *rows) {
    LRA_CHECK(row.line > line && row.batch >= 0 && row.image >= 0);
    LRA_CHECK(row.label == 0 || row.label == 1);
    line = row.line;
    const std::string words =
        absl::StrCat("imgs/", row.batch, " sample_", row.image, ".png ", row.image, " ", row.label);
    absl::StrAppend(&text, words, "\n");
    // The line must say exactly this in its first four columns.
    std::vector<std::string> columns =
        absl::StrSplit(lines[line - 1], absl::ByAnyChar(" \t\v\f\r"), absl::SkipEmpty());
    columns.resize(4);
    LRA_CHECK(absl::StrJoin(columns, " ") == words) << words;
  }
  LRA_CHECK(text.size() <= input.size() + 1);
  const auto again = lra::pathfinder::ParseMetadata(text, "0.npy");
  LRA_CHECK(again.ok() && again->size() == rows->size());
  for (size_t i = 0; i < rows->size(); ++i) {
    LRA_CHECK((*again)[i].path() == (*rows)[i].path() && (*again)[i].label == (*rows)[i].label);
  }
}
