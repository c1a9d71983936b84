// The formats of results, and where they go: what --format, --out and --json say together.
#ifndef LRA_CLI_PLAIN_FORMAT_H_
#define LRA_CLI_PLAIN_FORMAT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/table_writer.h"

namespace lra {

// What --format says or, without it, the extension of --out, else JSON with --json, else `usual`.
// InvalidArgument, naming the flag, for an unknown one and for --json beside another format.
absl::StatusOr<TableFormat> ChosenFormat(const std::string& format, const std::string& out,
                                         bool json, TableFormat usual);

// The same for results that are no leaderboards: Markdown, the usual one, CSV or JSON.
// InvalidArgument for any other; `what` begins the message: "an ablation".
absl::StatusOr<TableFormat> PlainFormat(const std::string& what, const std::string& format,
                                        const std::string& out, bool json);

// To the file `out` or, where it is empty, to standard output.
absl::Status WriteResult(const std::string& text, const std::string& out);

}  // namespace lra

#endif  // LRA_CLI_PLAIN_FORMAT_H_
