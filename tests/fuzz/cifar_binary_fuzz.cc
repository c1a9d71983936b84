#include "tasks/image/cifar_binary.h"
#include "tests/fuzz/fuzz_target.h"

LRA_FUZZ_TARGET(cifar_binary) {
  const auto image = lra::image::ParseCifarRecord(input, 0);
  if (!image.ok()) return;
  LRA_CHECK(input.size() == lra::image::kCifarRecordBytes);
  LRA_CHECK(image->label == input[0] && input[0] >= 0 && input[0] <= 9);
  LRA_CHECK(image->planes == reinterpret_cast<const uint8_t*>(input.data() + 1));
}
