#include "cli/plain_format.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::StatusOr<TableFormat> GivenFormat(const std::string& format, const std::string& out) {
  if (!format.empty()) return ParseTableFormat(format);
  const absl::StatusOr<TableFormat> of_path = TableFormatOfPath(out);
  if (of_path.ok()) return of_path;
  return Annotate(of_path.status(), absl::StrCat("--out ", out));
}

}  // namespace

absl::StatusOr<TableFormat> ChosenFormat(const std::string& format, const std::string& out,
                                         bool json, TableFormat usual) {
  if (format.empty() && out.empty()) return json ? TableFormat::kJson : usual;
  LRA_ASSIGN_OR_RETURN(const TableFormat chosen, GivenFormat(format, out));
  if (!json || chosen == TableFormat::kJson) return chosen;
  return absl::InvalidArgumentError(
      format.empty()
          ? absl::StrCat("--json and --out ", out, ": leave --json out, or name a file .json")
          : absl::StrCat("--json and --format ", format, ": leave one of them out"));
}

absl::StatusOr<TableFormat> PlainFormat(const std::string& what, const std::string& format,
                                        const std::string& out, bool json) {
  absl::StatusOr<TableFormat> parsed = ChosenFormat(format, out, json, TableFormat::kMarkdown);
  if (format.empty() && !TableFormatOfPath(out).ok() && !out.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", out, ": ", what, " is written as .md, .csv or .json"));
  }
  if (!parsed.ok() || *parsed == TableFormat::kMarkdown || *parsed == TableFormat::kCsv ||
      *parsed == TableFormat::kJson)
    return parsed;
  return absl::InvalidArgumentError(absl::StrCat(what, " is written as md, csv or json only"));
}

absl::Status WriteResult(const std::string& text, const std::string& out) {
  if (!out.empty()) return WriteFileAtomically(out, text);
  std::cout << text << std::flush;
  return absl::OkStatus();
}

}  // namespace lra
