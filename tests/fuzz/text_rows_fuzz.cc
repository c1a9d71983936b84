#include <string>

#include "absl/strings/match.h"
#include "tasks/text_rows.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// A table with or without a header, or lines of JSON, as the first byte says.
LRA_FUZZ_TARGET(text_rows) {
  static const lra::FuzzFolder folder("text_rows");
  static constexpr const char* kNames[] = {"a.csv", "a.tsv", "a.jsonl"};
  const uint8_t choice = lra::TakeByte(&input);
  const std::string name = kNames[choice % 3];
  lra::TextFields fields;
  fields.has_header = choice % 3 == 2 || choice / 3 % 2 == 0;
  if (!fields.has_header) {
    fields.label = "2";
    fields.text = "1";
  }
  const auto rows = lra::OpenTextRows(folder.Write(name, input), fields);
  absl::Status status = rows.status();
  while (status.ok()) {
    const auto row = (*rows)->Next();
    status = row.status();
    if (!status.ok() || !row->has_value()) break;
    LRA_CHECK(!(*row)->label.empty() && !(*row)->text.empty());
    LRA_CHECK(absl::StrContains((*row)->where, name));
  }
  LRA_CHECK(status.ok() || absl::StrContains(status.message(), name)) << status;
}
