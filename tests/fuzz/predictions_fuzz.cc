#include <cmath>

#include "absl/strings/match.h"
#include "eval/prediction_file.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// Somebody else's predictions for four examples of three classes.
LRA_FUZZ_TARGET(predictions) {
  constexpr int kClasses = 3, kExamples = 4;
  static const lra::FuzzFolder folder("predictions");
  lra::TaskSpec spec;
  spec.set_name("listops");
  spec.set_classes(kClasses);
  const auto read = lra::ReadPredictions({folder.Write("p.npy", input)}, {spec, "test", kExamples});
  if (!read.ok()) {
    LRA_CHECK(absl::StrContains(read.status().message(), "p.npy")) << read.status();
    return;
  }
  LRA_CHECK(read->logits.size() == kClasses * kExamples);
  for (const float logit : read->logits) LRA_CHECK(std::isfinite(logit));
}
