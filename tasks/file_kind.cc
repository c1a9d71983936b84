#include "tasks/file_kind.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr absl::string_view kWayOfPictures =
    "pictures become a task as arrays of pixels (numpy.savez(\"train.npz\", images=..., "
    "labels=...)), or by a program that writes the format of docs/format.md, and lra data adopt";
constexpr absl::string_view kUnpack = "unpack it first";
constexpr absl::string_view kAsUtf8 =
    "texts are read as UTF-8: save it so (iconv -f UTF-16 -t UTF-8)";

struct FileKind {
  absl::string_view begin, name, advice;
};

constexpr FileKind kFileKinds[] = {
    {"\x89PNG\r\n\x1a\n", "a PNG picture", kWayOfPictures},
    {"\xff\xd8\xff", "a JPEG picture", kWayOfPictures},
    {"GIF87a", "a GIF picture", kWayOfPictures},
    {"GIF89a", "a GIF picture", kWayOfPictures},
    {"PK\x03\x04", "a ZIP archive, or a workbook or document that is one inside",
     "unpack it, or save the workbook as .csv"},
    {"\x1f\x8b", "compressed by gzip", kUnpack},
    {"%PDF-", "a PDF document", "write its text to a file, e.g. by pdftotext"},
    {"\xff\xfe", "UTF-16", kAsUtf8},
    {"\xfe\xff", "UTF-16", kAsUtf8},
};

absl::Status NoText(absl::string_view where, absl::string_view name, absl::string_view advice) {
  return absl::DataLossError(absl::StrCat(where, ": is ", name, " and no text; ", advice));
}

}  // namespace

absl::Status CheckIsText(absl::string_view where, absl::string_view bytes) {
  for (const FileKind& kind : kFileKinds) {
    if (absl::StartsWith(bytes, kind.begin)) return NoText(where, kind.name, kind.advice);
  }
  return absl::OkStatus();
}

absl::Status CheckIsTextTable(absl::string_view where, absl::string_view bytes) {
  const bool is_wide = bytes.size() >= 2 && (bytes[0] == '\0') != (bytes[1] == '\0');
  if (is_wide) return NoText(where, "UTF-16", kAsUtf8);
  LRA_RETURN_IF_ERROR(CheckIsText(where, bytes));
  if (absl::StrContains(bytes, '\n')) return absl::OkStatus();
  const size_t end = bytes.find('\r');
  if (end == absl::string_view::npos || end + 1 == bytes.size()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(where, ": its lines end with CR alone; LF or CR LF are expected: write it with ",
                   "these (tr '\\r' '\\n')"));
}

}  // namespace lra
