#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tasks/retrieval/pair_line.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(pair_line) {
  const auto pair = lra::retrieval::ParsePairLine(input);
  if (!pair.ok()) {
    LRA_CHECK(pair.status().message().size() < 300);
    return;
  }
  LRA_CHECK(pair->label == 0 || pair->label == 1);
  LRA_CHECK(input[0] == '0' + pair->label);
  LRA_CHECK(!pair->id1.empty() && !pair->id2.empty() && !pair->text1.empty() &&
            !pair->text2.empty());
  LRA_CHECK(absl::EndsWith(
      input, absl::StrCat("\t", pair->id1, "\t", pair->id2, "\t", pair->text1, "\t", pair->text2)));
}
