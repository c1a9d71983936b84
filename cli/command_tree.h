// The subcommands and flags of the program as data, for pages and scripts that are made from them.
// CLI11's own types stay in command_tree.cc.
#ifndef LRA_CLI_COMMAND_TREE_H_
#define LRA_CLI_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lra {

struct FlagFacts {
  std::string name;   // "--out"; of a positional argument its name, "task"
  std::string value;  // what the help calls its value: "TASK", "INT"; empty for a switch
  std::string text;
  std::string default_value;  // empty if the help shows none
  bool is_positional = false;
  bool is_required = false;
};

struct CommandFacts {
  std::string path;  // "lra data prepare"
  std::string description;
  std::string footer;  // examples
  // In the order of the help: positional arguments in the order in which they are given.
  std::vector<FlagFacts> flags;
  std::vector<CommandFacts> commands;
};

// The command and all below it.
CommandFacts DescribeCommands(const CLI::App& app);

}  // namespace lra

#endif  // LRA_CLI_COMMAND_TREE_H_
