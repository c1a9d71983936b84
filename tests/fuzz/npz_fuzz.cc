#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "eval/prediction_file.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// Somebody else's predictions with the index of each row, for four examples of three classes.
LRA_FUZZ_TARGET(npz) {
  constexpr int kClasses = 3;
  static const std::vector<int64_t> indices = {7, 2, 9, 4};
  static const lra::FuzzFolder folder("npz");
  lra::TaskSpec spec;
  spec.set_name("listops");
  spec.set_classes(kClasses);
  const auto examples = static_cast<int64_t>(indices.size());
  const auto read =
      lra::ReadPredictions({folder.Write("p.npz", input)}, {spec, "test", examples, indices});
  if (!read.ok()) {
    LRA_CHECK(absl::StrContains(read.status().message(), "p.npz")) << read.status();
    return;
  }
  LRA_CHECK(static_cast<int64_t>(read->logits.size()) == kClasses * examples);
  for (const float logit : read->logits) LRA_CHECK(std::isfinite(logit));
  if (!read->only_labels) return;
  for (int64_t i = 0; i < examples; ++i) {
    const auto row = read->logits.begin() + i * kClasses;
    LRA_CHECK(std::count(row, row + kClasses, 1.0f) == 1) << "row " << i;
  }
}
