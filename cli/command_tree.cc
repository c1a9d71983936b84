#include "cli/command_tree.h"

#include "CLI/CLI.hpp"

namespace lra {
namespace {

FlagFacts Describe(const CLI::Option& option) {
  FlagFacts flag;
  flag.is_positional = !option.nonpositional();
  flag.name = flag.is_positional            ? option.get_name(true)
              : option.get_lnames().empty() ? "-" + option.get_snames().front()
                                            : "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) flag.value = option.get_type_name();
  flag.text = option.get_description();
  flag.default_value = option.get_default_str();
  flag.is_required = option.get_required();
  return flag;
}

CommandFacts DescribeBelow(const CLI::App& app, const std::string& parent) {
  CommandFacts command;
  command.path = parent + app.get_name();
  command.description = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) command.flags.push_back(Describe(*option));
  for (const CLI::App* below : app.get_subcommands({}))
    command.commands.push_back(DescribeBelow(*below, command.path + " "));
  return command;
}

}  // namespace

CommandFacts DescribeCommands(const CLI::App& app) { return DescribeBelow(app, ""); }

}  // namespace lra
