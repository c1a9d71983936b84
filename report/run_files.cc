#include "report/run_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "report/folder_files.h"

namespace lra {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kMapsFile[] = "maps.json";
constexpr char kProfileFile[] = "profile.json";

// The folders of the run that hold maps, sorted.
std::vector<std::string> MapFolders(absl::string_view directory) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator it(std::string(directory), error), end; !error && it != end;
       it.increment(error)) {
    if (FileExists((it->path() / kMapsFile).string())) folders.push_back(it->path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// "all" and "layer0", not single heads.
bool IsAverage(absl::string_view name) { return !absl::StrContains(name, "head"); }

// A name in the folder itself: nothing elsewhere is read.
bool IsPictureName(absl::string_view name) {
  return absl::EndsWith(name, ".png") && name.find('/') == absl::string_view::npos;
}

// The pictures that a maps.json names, those over all layers first: they sum up the others.
std::vector<std::string> PicturesOf(const Json& maps) {
  std::vector<std::string> pictures;
  size_t of_all = 0;
  for (const auto& [name, files] : maps.items()) {
    if (!IsAverage(name) || !files.is_array()) continue;
    for (const Json& file : files) {
      if (!file.is_string() || !IsPictureName(file.get<std::string>())) continue;
      const bool is_of_all = name == "all";
      pictures.insert(is_of_all ? pictures.begin() + static_cast<int64_t>(of_all) : pictures.end(),
                      file.get<std::string>());
      of_all += is_of_all ? 1 : 0;
    }
  }
  return pictures;
}

absl::Status AddPicture(const std::string& path, absl::string_view name, Json* maps) {
  LRA_ASSIGN_OR_RETURN(const std::string png, ReadFile(path, kMostPictureBytes));
  if (!absl::StartsWith(png, "\x89PNG"))
    return absl::DataLossError(absl::StrCat(path, ": is no PNG picture"));
  maps->push_back({{"name", std::string(name)},
                   {"src", absl::StrCat("data:image/png;base64,", absl::Base64Escape(png))}});
  return absl::OkStatus();
}

absl::Status AddMaps(const std::string& folder, Json* maps, std::vector<std::string>* not_shown) {
  LRA_ASSIGN_OR_RETURN(const Json json, ReadJsonObject(JoinPath(folder, kMapsFile)));
  std::vector<std::string> beyond;
  for (const std::string& picture : PicturesOf(json.contains("maps") ? json["maps"] : json)) {
    if (maps->size() >= kMostPictures) {
      beyond.push_back(picture);
      continue;
    }
    const absl::Status added = AddPicture(JoinPath(folder, picture), picture, maps);
    if (!added.ok()) not_shown->emplace_back(added.message());
  }
  if (!beyond.empty()) {
    not_shown->push_back(absl::StrCat(folder, ": ", kMostPictures, " pictures of a run are shown, ",
                                      absl::StrJoin(beyond, ", "),
                                      beyond.size() == 1 ? " is" : " are", " not"));
  }
  return absl::OkStatus();
}

// One kind of example of a profile.
Json ProfileRowJson(const Json& row) {
  Json shown = {{"name", TextField(row, "name")}};
  for (const char* number : {"examples", "value"}) {
    const auto field = row.find(number);
    if (field != row.end() && field->is_number()) shown[number] = *field;
  }
  const auto interval = row.find("interval");
  if (interval != row.end() && interval->is_array() && interval->size() == 2 &&
      (*interval)[0].is_number() && (*interval)[1].is_number()) {
    shown["interval"] = *interval;
  }
  return shown;
}

absl::StatusOr<Json> ReadProfile(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(const Json profile, ReadJsonObject(path));
  Json tables = Json::array();
  if (!profile.contains("tables") || !profile["tables"].is_array())
    return absl::DataLossError(
        absl::StrCat(path, ": has no tables; `lra profile --json` writes it"));
  for (const Json& table : profile["tables"]) {
    if (!table.is_object() || !table.contains("rows") || !table["rows"].is_array()) continue;
    Json rows = Json::array();
    for (const Json& row : table["rows"]) {
      if (row.is_object()) rows.push_back(ProfileRowJson(row));
    }
    tables.push_back({{"by", TextField(table, "by")},
                      {"definition", TextField(table, "definition")},
                      {"rows", std::move(rows)}});
  }
  return tables;
}

}  // namespace

Json RunFilesJson(absl::string_view directory, std::vector<std::string>* not_shown) {
  Json json = Json::object();
  Json maps = Json::array();
  for (const std::string& folder : MapFolders(directory)) {
    const absl::Status read = AddMaps(folder, &maps, not_shown);
    if (!read.ok()) not_shown->emplace_back(read.message());
  }
  if (!maps.empty()) json["maps"] = std::move(maps);
  const std::string path = JoinPath(directory, kProfileFile);
  if (!FileExists(path)) return json;
  absl::StatusOr<Json> profile = ReadProfile(path);
  if (!profile.ok()) {
    not_shown->emplace_back(profile.status().message());
  } else {
    json["profile"] = *std::move(profile);
  }
  return json;
}

}  // namespace lra
