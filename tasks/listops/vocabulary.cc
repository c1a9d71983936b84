#include "tasks/listops/vocabulary.h"

namespace lra::listops {

uint16_t TokenId(absl::string_view word) {
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '9') {
    return static_cast<uint16_t>(kZero + (word[0] - '0'));
  }
  for (uint16_t id = kMin; id <= kClose; ++id) {
    if (word == kTokenNames[id]) return id;
  }
  return kPadding;
}

}  // namespace lra::listops
