#include "cli/command.h"
#include "commit.h"
#include "eval/machine.h"

int main(int argc, char** argv) {
  lra::ProgramCommit() = LRA_COMMIT;
  return lra::RunProgram(argc, argv);
}
