#include "cli/command.h"

int main(int argc, char** argv) { return lra::RunProgram(argc, argv); }
