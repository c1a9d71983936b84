// What the ids of a data set stand for, whatever its examples are.
#ifndef LRA_DATASETS_ID_CONTENT_H_
#define LRA_DATASETS_ID_CONTENT_H_

#include <cstdint>
#include <string>

#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

// The first id that a token can have: 0, or 1 where 0 is kept for padding.
inline int FirstId(const TaskSpec& spec) { return spec.zero_is_token() ? 0 : 1; }

// The id that stands in the places of hidden tokens (view.target=MASKED), behind all others; -1
// where none are hidden. `spec` is that of a view.
inline int32_t MaskId(const TaskSpec& spec) {
  return spec.hides_tokens() ? spec.vocabulary_size() - 1 : -1;
}

// The id of the end mark in data whose spec, as seen through `view`, is `spec`; -1 where the view
// adds none. For code points it does not depend on the spec.
int32_t EndMarkId(const TaskSpec& spec, const DataView& view);

// Describes the inputs of a model that reads data whose spec, as seen through `view`, is `spec`:
// "bytes, 257 ids". Two data sets have the same description if and only if every id (or real
// number) means the same in both, so that one embedding serves both: all texts of bytes share one,
// all pictures whose pixels become ids in the same way, and expressions with the same named tokens.
// Ids without names are those of their task's version alone.
std::string IdContent(const TaskSpec& spec, const DataView& view);

}  // namespace lra

#endif  // LRA_DATASETS_ID_CONTENT_H_
