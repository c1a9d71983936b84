// docs/protocols.md: every rule of every protocol side by side, from configs/protocols/ and
// configs/presets/.
#ifndef LRA_PROTOCOL_PAGE_H_
#define LRA_PROTOCOL_PAGE_H_

#include <string>

#include "absl/status/statusor.h"

namespace lra {

// Markdown. Errors: those of LoadFragment.
absl::StatusOr<std::string> ProtocolPage();

}  // namespace lra

#endif  // LRA_PROTOCOL_PAGE_H_
