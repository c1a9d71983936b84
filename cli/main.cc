#include <string>
#include <vector>

#include "cli/command.h"
#include "lra/version.h"

int main(int argc, char** argv) {
  lra::CommandContext context;
  context.command_line = "lra";
  for (int i = 1; i < argc; ++i) context.command_line += std::string(" ") + argv[i];
  CLI::App app{
      "lra: the Long-Range Arena. Data that is generated or imported and verified, one encoder "
      "with any\n"
      "attention, runs that resume bit for bit, tables made from records."};
  lra::SetUpApp(&app, &context);
  return lra::RunApp(&app, &context, argc, argv);
}
