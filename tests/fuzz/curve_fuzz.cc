#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "run_folder/curve.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// The curve of a run, which `lra watch` reads while it is written.
LRA_FUZZ_TARGET(curve) {
  static const lra::FuzzFolder folder("curve");
  folder.Write(lra::kCurveFile, input);
  const auto points = lra::ReadCurve(folder.path());
  if (!points.ok()) {
    LRA_CHECK(absl::StrContains(points.status().message(), lra::kCurveFile)) << points.status();
    return;
  }
  LRA_CHECK(points->size() <= static_cast<size_t>(std::count(input.begin(), input.end(), '\n')));
}
