// Which files are no text: pictures, archives and the like, by their first bytes.
#ifndef LRA_TASKS_FILE_KIND_H_
#define LRA_TASKS_FILE_KIND_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// OK unless the bytes of a file begin as PNG, JPEG, GIF, ZIP, gzip, PDF or UTF-16 (by its mark) do.
// Then DataLoss that says what it is and what to do; `where` names the file.
absl::Status CheckIsText(absl::string_view where, absl::string_view bytes);

// The same for tables and lines of JSON, which begin with ASCII: UTF-16 is found without a mark,
// too, and line ends of CR alone are none.
absl::Status CheckIsTextTable(absl::string_view where, absl::string_view bytes);

}  // namespace lra

#endif  // LRA_TASKS_FILE_KIND_H_
