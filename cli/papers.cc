// lra papers
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "suite/paper_page.h"

namespace lra {
namespace {

struct PapersFlags {
  std::vector<std::string> papers;
  std::string records;
};

// Without its folder, every record would look as if nobody had kept it.
absl::Status FindRecords(const std::string& given, bool is_quiet, PaperPageOptions* options) {
  if (!given.empty()) options->records = given;
  if (FileExists(options->records)) return absl::OkStatus();
  if (!given.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--records ", given, ": no such folder; a checkout has ", PaperPageOptions().records));
  }
  if (!is_quiet) {
    std::cerr << "note: there is no folder " << options->records
              << " here, so no run counts as kept; --records names the one of a checkout\n";
  }
  return absl::OkStatus();
}

absl::Status PrintPapers(const PapersFlags& flags, const CommandContext& context) {
  PaperPageOptions options;
  options.papers = flags.papers;
  LRA_RETURN_IF_ERROR(FindRecords(flags.records, context.quiet, &options));
  LRA_ASSIGN_OR_RETURN(const std::string text,
                       context.json ? PaperJson(options) : PaperMarkdown(options));
  std::cout << text << std::flush;
  return absl::OkStatus();
}

}  // namespace

void AddPapersCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<PapersFlags>();
  CLI::App* command =
      AddCommand(app, "papers", "Tables and figures of papers: command, status, printed numbers");
  AddOption(command, "names", &flags->papers, "These papers (default: the page of all)",
            {.value = kPaperValue});
  AddOption(command, "--records", &flags->records,
            absl::StrCat("Folder of the results that are kept, one folder a suite (default: ",
                         PaperPageOptions().records, ")"),
            {.value = kFolderValue});
  SetBody(command, context,
          "  lra papers\n"
          "  lra papers cosformer2022\n"
          "  lra papers --json",
          [flags, context] { return PrintPapers(*flags, *context); });
}

}  // namespace lra
