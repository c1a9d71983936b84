#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "lra/files.h"
#include "nlohmann/json.hpp"
#include "report/ablation_part.h"
#include "report/efficiency_part.h"
#include "report/folder_files.h"
#include "report/run_files.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

// What `lra report` reads beside records: maps and the profile of a run, effects and measured cells
// among the runs. Nothing in them reaches the page as markup.
LRA_FUZZ_TARGET(report_files) {
  static const lra::FuzzFolder folder("report_files");
  static const bool made = lra::MakeDirectories(folder.path() + "/run/maps").ok();
  LRA_CHECK(made);
  folder.Write("run/checkpoint", "");
  folder.Write("run/maps/maps.json", input);
  folder.Write("run/maps/all-mean.png", "\x89PNG");
  folder.Write("run/profile.json", input);
  folder.Write("effects.json", input);
  folder.Write("cells.jsonl", input);
  std::vector<std::string> problems;
  const nlohmann::ordered_json run = lra::RunFilesJson(folder.path() + "/run", &problems);
  for (const auto& map : run.value("maps", nlohmann::ordered_json::array()))
    LRA_CHECK(map["src"] == "data:image/png;base64,iVBORw==") << map.dump();
  const lra::EfficiencyPart cells = lra::ReadEfficiency({folder.path()}, &problems);
  lra::AblationPart effects = lra::MakeAblations({{folder.path()}, {folder.path()}}, &problems);
  for (const std::string& problem : problems)
    LRA_CHECK(absl::StrContains(problem, folder.path())) << problem;
  const auto json = lra::ReadJsonObject(folder.path() + "/effects.json");
  if (json.ok()) lra::AddAblationJson(*json, "", &effects);
  for (const char* tag : {"<script", "<img", "<b>"}) {
    LRA_CHECK(!absl::StrContains(effects.html, tag)) << effects.html;
    LRA_CHECK(!absl::StrContains(cells.html, tag)) << cells.html;
  }
}
