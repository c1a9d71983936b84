#include "cli/patient_threads.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "lra/parallel.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

// The program that runs now, also where its file was replaced. A suite starts its workers under
// this name (suite/pool.h).
constexpr char kRunningProgram[] = "/proc/self/exe";

// The arguments of main(), which may lie above several callers.
std::vector<std::string> CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// Returns if it fails, or if another program, such as the dynamic loader, runs this one.
void StartAnew() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink(kRunningProgram, error);
  std::vector<std::string> words = CommandLine();
  if (error || words.empty()) return;
  const bool has_own_name = words[0] == kRunningProgram ||
                            std::filesystem::path(words[0]).filename() == program.filename();
  if (!has_own_name) return;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // The link would give the process its own name, "exe", by which nobody looks for it.
  execv(words[0] == kRunningProgram ? kRunningProgram : program.c_str(), arguments.data());
}

}  // namespace

void WaitPatiently(int threads) {
  for (const char* said : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (getenv(said) != nullptr) return;
  if (ResolveThreads(threads) < 2) return;
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/1);
  StartAnew();
}

absl::Status StartComputing(int threads, const CommandContext& context) {
  WaitPatiently(threads);
  return StartRuntime(threads, context.kernels);
}

}  // namespace lra
