#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tasks/pathfinder/metadata.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(metadata) {
  const auto rows = lra::pathfinder::ParseMetadata(input, "0.npy");
  if (!rows.ok()) {
    LRA_CHECK(rows.status().message().size() < 500);
    return;
  }
  std::string text;
  int64_t line = 0;
  for (const auto& row : *rows) {
    LRA_CHECK(row.line > line && row.batch >= 0 && row.image >= 0);
    LRA_CHECK(row.label == 0 || row.label == 1);
    line = row.line;
    absl::StrAppend(&text, "imgs/", row.batch, " sample_", row.image, ".png ", row.image, " ",
                    row.label, "\n");
  }
  LRA_CHECK(text.size() <= input.size() + 1);
  const auto again = lra::pathfinder::ParseMetadata(text, "0.npy");
  LRA_CHECK(again.ok() && again->size() == rows->size());
  for (size_t i = 0; i < rows->size(); ++i) {
    LRA_CHECK((*again)[i].path() == (*rows)[i].path() && (*again)[i].label == (*rows)[i].label);
  }
}
