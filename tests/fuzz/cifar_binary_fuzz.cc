#include "tasks/image/cifar_binary.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(cifar_binary) {
  using lra::image::kCifarRecordBytes;
  const auto records = static_cast<int64_t>(input.size() / kCifarRecordBytes);
  const auto images = lra::image::ParseCifarFile(input, records);
  LRA_CHECK(!lra::image::ParseCifarFile(input, records + 1).ok());
  if (!images.ok()) return;
  LRA_CHECK(input.size() == images->size() * kCifarRecordBytes);
  for (size_t i = 0; i < images->size(); ++i) {
    const char* const record = input.data() + i * kCifarRecordBytes;
    LRA_CHECK((*images)[i].label == record[0] && record[0] >= 0 && record[0] <= 9);
    LRA_CHECK((*images)[i].planes == reinterpret_cast<const uint8_t*>(record + 1));
  }
}
