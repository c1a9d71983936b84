#include "cli/data_adopt.h"

#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/flags.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/data_only.h"
#include "tasks/inventory.h"

namespace lra {

void AddDataAdopt(CLI::App* data, CommandContext* context) {
  auto name = std::make_shared<std::string>();
  auto threads = std::make_shared<int>(0);
  CLI::App* command = AddCommand(
      data, "adopt", "Verify data that another program wrote, and give it rules to train under");
  AddOption(command, "data", name.get(), "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddThreads(command, threads.get());
  SetBody(command, context, "  lra data adopt mine\n  lra train --task mine --attention linear",
          [name, threads, context]() -> absl::Status {
            LRA_ASSIGN_OR_RETURN(
                const std::string path,
                AdoptData(DataDirectoryOf(*name), {.threads = *threads, .quiet = context->quiet}));
            if (context->json) {
              PrintJson({{"file", path}});
            } else {
              std::cout << "wrote " << path << ": its rules, to be edited\n";
            }
            return absl::OkStatus();
          });
}

}  // namespace lra
