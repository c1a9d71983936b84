#include <string>
#include <vector>

#include "tasks/image/cifar_pickle.h"
#include "tasks/image/pickle_reader.h"
#include "tasks/image/pickle_test_util.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra::image {
namespace {

constexpr int kWidth = 3;  // narrow rows, which keep seeds short

void Check(absl::string_view bytes) {
  const auto pickle = Pickle::Parse(bytes);
  const auto batch = ParseCifarPickle(bytes, kWidth);
  LRA_CHECK(pickle.ok() || !batch.ok());
  if (!batch.ok()) {
    LRA_CHECK(batch.status().message().size() < 500);
    return;
  }
  LRA_CHECK(batch->pixels.size() == batch->labels.size() * kWidth);
  LRA_CHECK(batch->pixels.size() <= bytes.size());
  for (const uint8_t label : batch->labels) LRA_CHECK(label < kCifarClasses);
  const std::string again =
      Python2Batch(std::vector<int>(batch->labels.begin(), batch->labels.end()), batch->size(),
                   kWidth, std::string(batch->pixels.begin(), batch->pixels.end()));
  const auto same = ParseCifarPickle(again, kWidth);
  LRA_CHECK(same.ok() && same->labels == batch->labels && same->pixels == batch->pixels);
}

}  // namespace
}  // namespace lra::image

LRA_FUZZ_TARGET(pickle) { lra::image::Check(input); }
