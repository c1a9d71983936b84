#include <cstring>

#include "models/base/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(safetensors) {
  const auto file = lra::ParseSafetensors("f.safetensors", input);
  if (!file.ok()) {
    LRA_CHECK(file.status().code() == absl::StatusCode::kDataLoss);
    return;
  }
  size_t held = 0;
  for (const auto& [name, tensor] : file->tensors) held += tensor.nbytes();
  uint64_t header = 0;
  std::memcpy(&header, input.data(), 8);
  // Every byte after the header belongs to one tensor.
  LRA_CHECK(8 + header + held == input.size());
}
