#include "cli/command.h"

#include <iostream>
#include <utility>

namespace lra {
namespace {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

std::function<void()> RunCommand(CommandContext* context, std::function<absl::Status()> body) {
  return [context, body = std::move(body)] {
    const absl::Status status = body();
    context->exit_code = ExitCode(status);
    if (!status.ok()) std::cerr << "lra: " << status.message() << "\n";
  };
}

void AddCommonFlags(CLI::App* command, CommandContext* context, const std::string& examples) {
  command->add_flag("--json", context->json, "Print the result as JSON");
  command->add_flag("--quiet", context->quiet, "No progress on standard error");
  command->footer("Examples:\n" + examples);
}

}  // namespace lra
