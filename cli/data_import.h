// lra data import
#ifndef LRA_CLI_DATA_IMPORT_H_
#define LRA_CLI_DATA_IMPORT_H_

#include "cli/command.h"

namespace lra {

void AddDataImport(CLI::App* data, CommandContext* context);

}  // namespace lra

#endif  // LRA_CLI_DATA_IMPORT_H_
