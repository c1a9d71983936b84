#include "report/folder_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "eval/table_html.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostJsonBytes = 4 << 20;

bool IsRun(const fs::path& directory) {
  return FileExists((directory / kRecordFile).string()) ||
         FileExists((directory / "curve.jsonl").string()) ||
         FileExists((directory / "checkpoint").string());
}

}  // namespace

std::set<std::string> FilesOutsideRuns(const std::vector<std::string>& folders,
                                       absl::string_view extension) {
  std::set<std::string> files;
  for (const std::string& folder : folders) {
    if (IsRun(folder)) continue;
    std::error_code error;
    fs::recursive_directory_iterator it(folder, error), end;
    for (; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (it->is_directory(ignored) && IsRun(it->path())) it.disable_recursion_pending();
      if (it->is_regular_file(ignored) && it->path().extension() == std::string(extension))
        files.insert(it->path().lexically_normal().string());
    }
  }
  return files;
}

absl::StatusOr<nlohmann::ordered_json> ReadJsonObject(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostJsonBytes));
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError(absl::StrCat(path, ": is no JSON object"));
  return json;
}

std::string TextField(const nlohmann::ordered_json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : "";
}

std::string HtmlTextTable(absl::string_view caption, const std::vector<std::string>& head,
                          const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string text = absl::StrCat(
      "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"", EscapeHtml(caption),
      "\">\n<table>\n<caption><span>", EscapeHtml(caption), "</span></caption>\n<thead><tr>");
  for (const std::string& name : head)
    absl::StrAppend(&text, "<th scope=\"col\">", EscapeHtml(name), "</th>");
  absl::StrAppend(&text, "</tr></thead>\n<tbody>\n");
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, "<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&text, c == 0 ? "<th scope=\"row\">" : "<td>", EscapeHtml(row[c]),
                      c == 0 ? "</th>" : "</td>");
    }
    absl::StrAppend(&text, "</tr>\n");
  }
  return absl::StrCat(text, "</tbody>\n</table>\n</div>\n");
}

}  // namespace lra
