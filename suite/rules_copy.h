// The rules of a suite while it runs. Each run reads configs/ when it begins, hours after the
// first: what is changed there meanwhile must not reach it.
#ifndef LRA_SUITE_RULES_COPY_H_
#define LRA_SUITE_RULES_COPY_H_

#include <string>

#include "absl/status/statusor.h"

namespace lra {

// OUT/rules/<digits>, a copy of ConfigDirectory() named after its content: the one that is there
// already, or a new one. Complete or not at all, whatever happens and whoever else makes it.
absl::StatusOr<std::string> CopyRules(const std::string& out);

}  // namespace lra

#endif  // LRA_SUITE_RULES_COPY_H_
