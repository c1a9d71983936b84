// lra data adopt
#ifndef LRA_CLI_DATA_ADOPT_H_
#define LRA_CLI_DATA_ADOPT_H_

#include "cli/command.h"

namespace lra {

void AddDataAdopt(CLI::App* data, CommandContext* context);

}  // namespace lra

#endif  // LRA_CLI_DATA_ADOPT_H_
