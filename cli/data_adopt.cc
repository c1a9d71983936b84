#include "cli/data_adopt.h"

#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/data_output.h"
#include "cli/flags.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/data_only.h"
#include "tasks/inventory.h"

namespace lra {
namespace {

absl::Status Adopt(const std::string& name, const VerifyOptions& options,
                   const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const AdoptedData adopted, AdoptData(DataDirectoryOf(name), options));
  const Leakage leakage = LeakageOf(adopted.report);
  if (context.json) {
    PrintJson({{"file", adopted.rules_path},
               {"leakage", LeakageJson(leakage)},
               {"notes", adopted.report.notes}});
    return absl::OkStatus();
  }
  PrintLeakage(leakage);
  PrintNotes(adopted.report.notes);
  std::cout << "wrote " << adopted.rules_path << ": its rules, to be edited\n";
  return absl::OkStatus();
}

}  // namespace

void AddDataAdopt(CLI::App* data, CommandContext* context) {
  auto name = std::make_shared<std::string>();
  auto threads = std::make_shared<int>(0);
  CLI::App* command = AddCommand(
      data, "adopt", "Verify data that another program wrote, and give it rules to train under");
  AddOption(command, "data", name.get(), "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddThreads(command, threads.get());
  SetBody(command, context, "  lra data adopt mine\n  lra train --task mine --attention linear",
          [name, threads, context] {
            return Adopt(*name, {.threads = *threads, .quiet = context->quiet}, *context);
          });
}

}  // namespace lra
