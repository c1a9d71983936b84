// The flags of subcommands. CLI11's headers take seconds a file to compile: flags.cc and command.cc
// alone include them.
#ifndef LRA_CLI_FLAGS_H_
#define LRA_CLI_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lra {

struct FlagRules {
  bool is_required = false;
  // The help shows the value that the flag has when it is not given.
  bool shows_default = false;
  enum Allowed { kAny, kNonNegative, kPositive, kRange } allowed = kAny;
  double least = 0, largest = 1;  // of kRange
  // Another flag without which this one is refused.
  const char* needs = nullptr;
};

// A flag ("--out") or a positional argument ("run") that is read into *value, which must outlive
// the parsing: a string, a number (int, int64_t, uint32_t, double), an optional number, or a vector
// of strings for several values.
template <class T>
void AddOption(CLI::App* command, const std::string& name, T* value, const std::string& text,
               const FlagRules& rules = {});
// --set FIELD=VALUE, one after each flag.
void AddSets(CLI::App* command, std::vector<std::string>* sets, const std::string& text);
// *value is true where the flag is given.
void AddSwitch(CLI::App* command, const std::string& name, bool* value, const std::string& text);
// "800MB", "4GB": a number of bytes.
void AddBytes(CLI::App* command, const std::string& name, uint64_t* value, const std::string& text);

// Flags that many subcommands have; a note stands at the end of the text.
void AddThreads(CLI::App* command, int* threads, const std::string& note = "");
void AddKernels(CLI::App* command, std::string* kernels);
void AddHalfLogits(CLI::App* command, bool* half_logits);
void AddData(CLI::App* command, std::string* directory, const std::string& note = "");
// --data and --other-data of commands that look at a finished run.
void AddDataOfRun(CLI::App* command, std::string* directory, bool* allows_other);

}  // namespace lra

#endif  // LRA_CLI_FLAGS_H_
