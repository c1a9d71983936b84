// lra data show
#ifndef LRA_CLI_DATA_SHOW_H_
#define LRA_CLI_DATA_SHOW_H_

#include "cli/command.h"

namespace lra {

void AddDataShow(CLI::App* data, CommandContext* context);

}  // namespace lra

#endif  // LRA_CLI_DATA_SHOW_H_
