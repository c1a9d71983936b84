// Scripts that complete subcommands, flags and values in a shell, made from the tree of commands.
#ifndef LRA_CLI_COMPLETION_SCRIPT_H_
#define LRA_CLI_COMPLETION_SCRIPT_H_

#include <map>
#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace lra {

// The words that stand for a value of flags ("TASK": "listops", "text", ...). A value that ends in
// "=VALUE" has assignments: "train.steps=" takes any value, "model.pooling=MEAN|CLS" one of two.
using ValueWords = std::map<std::string, std::vector<std::string>>;

// For bash and for zsh: the same tables and search, with the shell's own last step.
std::string BashCompletion(const CommandFacts& program, const ValueWords& words);
std::string ZshCompletion(const CommandFacts& program, const ValueWords& words);
std::string FishCompletion(const CommandFacts& program, const ValueWords& words);

}  // namespace lra

#endif  // LRA_CLI_COMPLETION_SCRIPT_H_
