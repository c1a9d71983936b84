// lra papers
#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/flags.h"
#include "lra/status_macros.h"
#include "suite/paper_page.h"

namespace lra {
namespace {

absl::Status PrintPapers(const PaperPageOptions& options, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::string text,
                       context.json ? PaperJson(options) : PaperMarkdown(options));
  std::cout << text << std::flush;
  return absl::OkStatus();
}

}  // namespace

void AddPapersCommand(CLI::App* app, CommandContext* context) {
  auto options = std::make_shared<PaperPageOptions>();
  CLI::App* command =
      AddCommand(app, "papers", "Tables and figures of papers: command, status, printed numbers");
  AddOption(command, "names", &options->papers, "These papers (default: the page of all)",
            {.value = kPaperValue});
  AddOption(command, "--records", &options->records,
            "Folder of the results that are kept, one folder a suite", {.shows_default = true});
  SetBody(command, context,
          "  lra papers\n"
          "  lra papers cosformer2022\n"
          "  lra papers --json",
          [options, context] { return PrintPapers(*options, *context); });
}

}  // namespace lra
