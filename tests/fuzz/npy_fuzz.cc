#include <string>

#include "absl/strings/str_cat.h"
#include "datasets/npy.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(npy) {
  const auto header = lra::ParseNpyHeader(input, "f.npy");
  if (!header.ok()) return;
  int64_t values = 1;
  for (const int64_t size : header->shape) {
    LRA_CHECK(size >= 0);
    values *= size;
  }
  LRA_CHECK(values == header->values && header->data_offset_bytes % 16 == 0);
  const int64_t held = values * lra::NpyItemBytes(header->type);
  LRA_CHECK(header->data_offset_bytes + held == static_cast<int64_t>(input.size()));
  // The header that we write for it is read as the same.
  const std::string text = lra::FormatNpyHeader(header->type, header->shape);
  const auto again =
      lra::ParseNpyHeader(absl::StrCat(text, input.substr(header->data_offset_bytes)), "f.npy");
  LRA_CHECK(again.ok() && again->type == header->type && again->shape == header->shape);
}
