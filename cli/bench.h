// The subcommands of `lra bench`, one function each; a measurement's table goes to standard output,
// its JSON there with --json and to a file with --out.
#ifndef LRA_CLI_BENCH_H_
#define LRA_CLI_BENCH_H_

#include <string>

#include "absl/status/status.h"
#include "cli/command.h"

namespace lra {

void AddBenchStep(CLI::App* group, CommandContext* context);
void AddBenchAttention(CLI::App* group, CommandContext* context);
void AddBenchData(CLI::App* group, CommandContext* context);
void AddBenchGenerate(CLI::App* group, CommandContext* context);
void AddBenchEfficiency(CLI::App* group, CommandContext* context);

// --threads, --kernels and --out, which all of them have.
struct BenchFlags {
  int threads = 0;
  std::string out;
};
void AddBenchFlags(CLI::App* command, BenchFlags* flags);

// Prints one of both texts, and writes the JSON to flags.out where that is given.
absl::Status PrintBench(const std::string& text, const std::string& json, const BenchFlags& flags,
                        const CommandContext& context);

}  // namespace lra

#endif  // LRA_CLI_BENCH_H_
