// Status plumbing that Debian's Abseil lacks.
//
//   LRA_RETURN_IF_ERROR(WriteAll(path));
//   LRA_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(dir));
//   return Annotate(status, "reading shard 3");     // "reading shard 3: <message>", same code
#ifndef LRA_STATUS_MACROS_H_
#define LRA_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lra {

// Puts `where` in front of the message; an OK status stays OK. What an error is marked as (its
// payloads) it stays.
inline absl::Status Annotate(const absl::Status& status, absl::string_view where) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(where, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view mark, const absl::Cord& payload) {
    annotated.SetPayload(mark, payload);
  });
  return annotated;
}

}  // namespace lra

#define LRA_STATUS_CONCAT_INNER(a, b) a##b
#define LRA_STATUS_CONCAT(a, b) LRA_STATUS_CONCAT_INNER(a, b)

#define LRA_RETURN_IF_ERROR(expression)                                              \
  do {                                                                               \
    if (absl::Status lra_status = (expression); !lra_status.ok()) return lra_status; \
  } while (false)

#define LRA_ASSIGN_OR_RETURN(left, expression) \
  LRA_ASSIGN_OR_RETURN_IMPL(LRA_STATUS_CONCAT(lra_status_or_, __LINE__), left, expression)
#define LRA_ASSIGN_OR_RETURN_IMPL(holder, left, expression) \
  auto holder = (expression);                               \
  if (!holder.ok()) return holder.status();                 \
  left = *std::move(holder)

#endif  // LRA_STATUS_MACROS_H_
