// lra quickstart
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "lra/config.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using Words = std::vector<std::string>;

constexpr char kMeaning[] = R"(
What these numbers mean: after 150 steps of 32 examples a two-layer model has seen about 5 % of the
training set. Its head reads the output at the first token, which is the root operator (pooling
FIRST). A row marked + is above the majority class; a row at or below the root operator's table has
learned no more than to read that token, which needs no attention at all. The numbers do not rank
the methods: that takes the full schedule (--preset lra2020) and several seeds (--seeds 0-4).
Published rows come from other models, budgets and code.
)";

// What a user would type. Each leaves finished work as it is, so the whole can be repeated. One run
// after the other with all cores: a suite would measure steps first, and its last run have one.
std::vector<Words> CommandsBeforeTable(const std::string& out) {
  std::vector<Words> commands = {{"data", "prepare", "listops"},
                                 {"baseline", "listops", "--out", out}};
  const std::string recipe = absl::StrCat(ConfigDirectory(), "/runs/quickstart.textproto");
  for (const char* attention : {"transformer", "linear", "cosformer"}) {
    commands.push_back({"train", "--config", recipe, "--attention", attention, "--out",
                        absl::StrCat(out, "/", attention), "--resume"});
  }
  return commands;
}

// Runs a command line of this program. It says itself what went wrong.
absl::Status RunWords(Words words, bool is_quiet) {
  if (is_quiet) words.push_back("--quiet");
  words.insert(words.begin(), "lra");
  const std::string line = absl::StrJoin(words, " ");
  if (!is_quiet) std::cerr << "== " << line << std::endl;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const int code = RunProgram(static_cast<int>(pointers.size()), pointers.data());
  if (code == kDone) return absl::OkStatus();
  const std::string text =
      absl::StrCat("stopped at `", line, "`; `lra quickstart` goes on from there");
  if (code == kWrongUse) return absl::InvalidArgumentError(text);
  absl::Status status = absl::AbortedError(text);
  if (code == kTryLater) MarkAsInUse(&status);
  return status;
}

// The table alone is the result: what the commands before it print goes to standard error.
absl::Status Prepare(const std::string& out, bool is_quiet) {
  std::streambuf* const standard_output = std::cout.rdbuf(std::cerr.rdbuf());
  absl::Status status;
  for (const Words& words : CommandsBeforeTable(out)) {
    status = RunWords(words, is_quiet);
    if (!status.ok()) break;
  }
  std::cout.rdbuf(standard_output);
  return status;
}

absl::Status Quickstart(const std::string& out, const CommandContext& context) {
  WaitPatiently(/*threads=*/0);  // for its trainings, which take all cores
  LRA_RETURN_IF_ERROR(Prepare(out, context.quiet));
  Words table = {"table", out, "--published", "cosformer2022"};
  if (context.json) table.push_back("--json");
  LRA_RETURN_IF_ERROR(RunWords(table, context.quiet));
  if (!context.json && !context.quiet) std::cerr << kMeaning;
  return absl::OkStatus();
}

}  // namespace

void AddQuickstartCommand(CLI::App* app, CommandContext* context) {
  auto out = std::make_shared<std::string>("runs/quickstart");
  CLI::App* command = AddCommand(app, "quickstart",
                                 "From nothing to a first table, in minutes: ListOps data, three "
                                 "attentions trained, a leaderboard");
  AddOption(command, "--out", out.get(), "Folder of the run folders",
            {.shows_default = true, .value = kFolderValue});
  SetBody(command, context,
          "  lra quickstart\n"
          "  lra quickstart --out runs/first --json",
          [out, context] { return Quickstart(*out, *context); });
}

}  // namespace lra
