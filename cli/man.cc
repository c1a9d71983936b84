// lra man: the manual page of all subcommands, in roff.
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/command.h"
#include "cli/command_tree.h"
#include "lra/version.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

// Text as roff prints it: a dash that can be searched for, no escapes, no requests.
std::string Roff(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  escaped = absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  if (absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'"))
    return absl::StrCat("\\&", escaped);
  return escaped;
}

// An argument of a request.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Roff(text), {{"\"", "\\(dq"}}), "\"");
}

std::string FlagEntry(const FlagFacts& flag) {
  std::string head = flag.is_positional ? absl::StrCat("\\fI", Roff(flag.name), "\\fR")
                                        : absl::StrCat("\\fB", Roff(flag.name), "\\fR");
  if (!flag.value.empty()) absl::StrAppend(&head, " \\fI", Roff(flag.value), "\\fR");
  if (flag.is_required) absl::StrAppend(&head, " (required)");
  std::string text = Roff(flag.text);
  if (!flag.default_value.empty() && !flag.value.empty())
    absl::StrAppend(&text, " [", Roff(flag.default_value), "]");
  return absl::StrCat(".TP\n", head, "\n", text, "\n");
}

// Lines as they stand.
std::string Verbatim(absl::string_view text) {
  return absl::StrCat(".nf\n", Roff(absl::StripSuffix(text, "\n")), "\n.fi\n");
}

// Flags in `general` belong to every command and are described once.
std::string CommandEntries(const CommandFacts& command, const std::set<std::string>& general) {
  std::string page;
  for (const CommandFacts& below : command.commands) {
    absl::StrAppend(&page, ".SS ", Quoted(below.path), "\n", Roff(below.description), ".\n");
    for (const FlagFacts& flag : below.flags)
      if (general.count(flag.name) == 0) page += FlagEntry(flag);
    absl::StrAppend(&page, ".PP\n", Verbatim(below.footer));
    page += CommandEntries(below, general);
  }
  return page;
}

std::string Definition(absl::string_view head, absl::string_view text) {
  return absl::StrCat(".TP\n\\fB", Roff(head), "\\fR\n", Roff(text), "\n");
}

std::string ExitStatus() {
  std::string section = ".SH EXIT STATUS\n";
  for (const ExitCodeFact& fact : kExitCodes)
    section += Definition(absl::StrCat(fact.code), fact.meaning);
  return section;
}

std::string Environment() {
  return absl::StrCat(
      ".SH ENVIRONMENT\n",
      Definition("LRA_DATA", "the folder with the data sets, one folder a task (./data)"),
      Definition("LRA_CONFIGS", "the folder with the configurations (those of the program)"),
      Definition("LRA_KERNELS", "the path of the kernels, as --kernels"),
      Definition("LRA_CORE_LOCKS", "the folder of locks of --pin-workers (/tmp/lra-cores-UID)"),
      Definition("NO_COLOR", "if set, `lra watch` draws without colours, in ASCII"));
}

// The program describes itself as "lra: what it is. More.".
std::string ManPage(const CommandFacts& program) {
  const std::vector<std::string> sentences =
      absl::StrSplit(absl::StripPrefix(program.description, "lra: "), absl::MaxSplits(". ", 1));
  std::string page = absl::StrCat(".TH LRA 1 \"\" ", Quoted(absl::StrCat("lra ", LRA_VERSION)),
                                  "\n.SH NAME\nlra \\- ", Roff(sentences.front()),
                                  "\n.SH SYNOPSIS\n\\fBlra\\fR \\fICOMMAND\\fR "
                                  "[\\fIARGUMENT\\fR...] [\\fIFLAG\\fR...]\n.SH DESCRIPTION\n",
                                  Roff(sentences.back()), "\n.SH FLAGS\n");
  std::set<std::string> general;
  for (const FlagFacts& flag : program.flags) {
    page += FlagEntry(flag);
    general.insert(flag.name);
  }
  return absl::StrCat(page, ".SH COMMANDS\n", CommandEntries(program, general), ExitStatus(),
                      Environment(), ".SH EXAMPLES\n",
                      Verbatim(absl::StripPrefix(program.footer, "Examples:\n")));
}

nlohmann::ordered_json ToJson(const CommandFacts& command) {
  nlohmann::ordered_json flags = nlohmann::ordered_json::array(), below = flags;
  for (const FlagFacts& flag : command.flags) {
    flags.push_back({{"name", flag.name},
                     {"value", flag.value},
                     {"text", flag.text},
                     {"default", flag.default_value},
                     {"is_positional", flag.is_positional},
                     {"is_required", flag.is_required}});
  }
  for (const CommandFacts& inner : command.commands) below.push_back(ToJson(inner));
  return {{"command", command.path},
          {"description", command.description},
          {"flags", flags},
          {"examples", absl::StripPrefix(command.footer, "Examples:\n")},
          {"commands", below}};
}

nlohmann::ordered_json ManJson(const CommandFacts& program) {
  nlohmann::ordered_json json = ToJson(program);
  for (const ExitCodeFact& fact : kExitCodes)
    json["exit_codes"][absl::StrCat(fact.code)] = fact.meaning;
  return json;
}

}  // namespace

void AddManCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      AddCommand(app, "man", "Print the manual page of all subcommands, in the format of `man`");
  SetBody(command, context,
          "  lra man >lra.1\n"
          "  lra man | man -l -\n"
          "  lra man --json     # commands, flags and exit codes as data",
          [app, context] {
            const CommandFacts program = DescribeCommands(*app);
            if (context->json) {
              PrintJson(ManJson(program));
            } else {
              std::cout << ManPage(program);
            }
            return absl::OkStatus();
          });
}

}  // namespace lra
