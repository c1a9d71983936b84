#include "cli/plain_format.h"

#include "absl/strings/str_cat.h"

namespace lra {

absl::StatusOr<TableFormat> PlainFormat(const std::string& what, const std::string& format,
                                        const std::string& out, bool json) {
  absl::StatusOr<TableFormat> parsed = !format.empty() ? ParseTableFormat(format)
                                       : !out.empty()
                                           ? TableFormatOfPath(out)
                                           : (json ? TableFormat::kJson : TableFormat::kMarkdown);
  if (!parsed.ok() || *parsed == TableFormat::kMarkdown || *parsed == TableFormat::kCsv ||
      *parsed == TableFormat::kJson)
    return parsed;
  return absl::InvalidArgumentError(absl::StrCat(what, " is written as md, csv or json only"));
}

}  // namespace lra
