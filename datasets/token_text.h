// What a token id stands for, in readable form.
#ifndef LRA_DATASETS_TOKEN_TEXT_H_
#define LRA_DATASETS_TOKEN_TEXT_H_

#include <cstdint>
#include <string>

#include "lra/task_spec.pb.h"

namespace lra {

// `spec` is that of a view (SplitView::spec). The token's name ("[MAX", "U+00E9"), or of bytes
// their character, "\x0a" where it cannot be printed, "_" for a blank, "<eos>" for the end
// mark; "<mask>" for MaskId. Empty for pixels, and for ids that have no name.
std::string TokenText(const TaskSpec& spec, int32_t id);

}  // namespace lra

#endif  // LRA_DATASETS_TOKEN_TEXT_H_
