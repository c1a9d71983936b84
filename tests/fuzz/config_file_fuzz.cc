#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eval/published.h"
#include "lra/config.h"
#include "lra/config_check.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr char kName[] = "fuzz";

// A copy of configs/, which gets the input as one more file.
const lra::FuzzFolder& Configs() {
  static const lra::FuzzFolder* const folder = [] {
    static const lra::FuzzFolder copy("config_file");
    std::error_code failed;
    std::filesystem::copy(lra::ConfigDirectory(), copy.path(),
                          std::filesystem::copy_options::recursive, failed);
    LRA_CHECK(!failed) << failed.message();
    return &copy;
  }();
  return *folder;
}

// Reads configurations from the copy while it lives.
class ConfigsScope {
 public:
  ConfigsScope() {
    if (const char* before = std::getenv("LRA_CONFIGS")) before_ = before;
    const std::string& path = Configs().path();
    setenv("LRA_CONFIGS", path.c_str(), 1);
  }
  ~ConfigsScope() {
    before_.empty() ? unsetenv("LRA_CONFIGS") : setenv("LRA_CONFIGS", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

lra::ExperimentChoice ChoiceOf(absl::string_view kind, const std::string& file) {
  lra::ExperimentChoice choice;
  choice.task = "listops";
  choice.attention = "linear";
  choice.preset = "smoke";
  if (kind == "runs") choice = {.run_file = file};
  if (kind == "protocols") choice.protocol = kName;
  if (kind == "presets") choice.preset = kName;
  if (kind == "attentions") choice.attention = kName;
  if (kind == "tasks") choice.task = kName;
  if (kind == "blocks") choice.sets = {absl::StrCat("block.name=", kName)};
  return choice;
}

}  // namespace

// The name of a folder of configs, a line end, and a file of that folder under the name "fuzz".
LRA_FUZZ_TARGET(config_file) {
  const size_t end = input.find('\n');
  if (end == absl::string_view::npos) return;
  const std::string kind(input.substr(0, end));
  static const auto* const kinds = new std::set<std::string>{
      "runs", "protocols", "presets", "attentions", "tasks", "blocks", "published"};
  if (!kinds->contains(kind)) return;
  const ConfigsScope scope;
  const std::string file =
      Configs().Write(absl::StrCat(kind, "/", kName, ".textproto"), input.substr(end + 1));
  if (kind == "published") {
    lra::LoadPublishedTable(kName).status().IgnoreError();
  } else {
    const auto resolved = lra::ResolveExperiment(ChoiceOf(kind, file));
    if (resolved.ok()) {
      LRA_CHECK(lra::CheckStoredConfig(resolved->config).ok());
      LRA_CHECK(!lra::ExperimentName(resolved->config).empty());
      LRA_CHECK(lra::Fingerprint(resolved->config).size() == 64);
    }
  }
  std::filesystem::remove(file);
}
