// The formats of results that are no leaderboards.
#ifndef LRA_CLI_PLAIN_FORMAT_H_
#define LRA_CLI_PLAIN_FORMAT_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/table_writer.h"

namespace lra {

// Markdown, CSV or JSON: what --format says or, without it, the extension of --out, else JSON with
// --json, else Markdown. InvalidArgument for any other; `what` begins the message: "an ablation".
absl::StatusOr<TableFormat> PlainFormat(const std::string& what, const std::string& format,
                                        const std::string& out, bool json);

}  // namespace lra

#endif  // LRA_CLI_PLAIN_FORMAT_H_
