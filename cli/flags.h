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

// What the help calls a flag's value. Completion knows the names that stand for each
// (completion.cc). A value "md|csv" is one of these words; any other is text, a number or a path.
inline constexpr char kTaskValue[] = "TASK";
inline constexpr char kAttentionValue[] = "ATTENTION";
inline constexpr char kBlockValue[] = "BLOCK";
inline constexpr char kProtocolValue[] = "PROTOCOL";
inline constexpr char kPresetValue[] = "PRESET";
inline constexpr char kPublishedValue[] = "PUBLISHED";
inline constexpr char kPaperValue[] = "PAPER";
inline constexpr char kSuiteValue[] = "SUITE";
inline constexpr char kMetricValue[] = "METRIC";
inline constexpr char kDataValue[] = "DATA";       // a task, or a folder of prepared data
inline constexpr char kPlugInValue[] = "PLUG-IN";  // a task, an attention or a block
inline constexpr char kNameValue[] = "NAME";       // a plug-in, a preset, a protocol or a suite
inline constexpr char kFolderValue[] = "FOLDER";
inline constexpr char kFileValue[] = "FILE";
inline constexpr char kPrefixValue[] = "PREFIX";  // of files with endings of their own
inline constexpr char kRunValue[] = "RUN";        // a run folder, a checkpoint or a weights file
inline constexpr char kTimeValue[] = "TIME";      // "2h"
inline constexpr char kSplitValue[] = "train|validation|test";
inline constexpr char kDeviceValue[] = "cpu|cuda|fake";
inline constexpr char kExecutorValue[] = "local|slurm";
inline constexpr char kKernelsValue[] = "generic|baseline|avx2|avx512|amx";
inline constexpr char kGraphsValue[] = "auto|on|off";
// What --set takes: a field of the configuration or of its view, an option of a task or a plug-in.
inline constexpr char kFieldValue[] = "FIELD=VALUE";
inline constexpr char kViewFieldValue[] = "VIEW_FIELD=VALUE";
inline constexpr char kTaskOptionValue[] = "TASK_OPTION=VALUE";
inline constexpr char kOptionValue[] = "OPTION=VALUE";

// What is said of a flag or a positional argument with an empty value, which every one refuses: it
// would mean the default, and is what a variable of the shell that nobody has set looks like.
inline constexpr char kIsEmpty[] = "is empty; give a value, or leave it out";

struct FlagRules {
  bool is_required = false;
  // The help shows the value that the flag has when it is not given.
  bool shows_default = false;
  enum Allowed { kAny, kNonNegative, kPositive, kRange } allowed = kAny;
  double least = 0, largest = 1;  // of kRange
  // Another flag without which this one is refused.
  const char* needs = nullptr;
  // One of the names above; nullptr = the type of the value ("TEXT", "INT").
  const char* value = nullptr;
};

// A flag ("--out") or a positional argument ("run") that is read into *value, which must outlive
// the parsing: a string, a number (int, int64_t, uint32_t, double), an optional number, or a vector
// of strings for several values.
template <class T>
void AddOption(CLI::App* command, const std::string& name, T* value, const std::string& text,
               const FlagRules& rules = {});
// A flag that may be repeated, with one value after each.
void AddRepeated(CLI::App* command, const std::string& name, std::vector<std::string>* values,
                 const std::string& text, const char* value);
// --set, with one assignment after each flag.
void AddSets(CLI::App* command, std::vector<std::string>* sets, const std::string& text,
             const char* value = kFieldValue);
// *value is true where the flag is given.
void AddSwitch(CLI::App* command, const std::string& name, bool* value, const std::string& text);
// "800MB", "4GB": a number of bytes.
void AddBytes(CLI::App* command, const std::string& name, uint64_t* value, const std::string& text);

// Flags that many subcommands have; a note stands at the end of the text.
void AddThreads(CLI::App* command, int* threads, const std::string& note = "");
// `needs` is as in FlagRules.
void AddDevice(CLI::App* command, std::string* device, const char* needs = nullptr);
void AddKernels(CLI::App* command, std::string* kernels);
void AddHalfLogits(CLI::App* command, bool* half_logits);
void AddData(CLI::App* command, std::string* directory, const std::string& note = "");
// --data and --other-data of commands that look at a finished run.
void AddDataOfRun(CLI::App* command, std::string* directory, bool* allows_other);
// --runs of commands that take rows of a table as arguments.
void AddRunsOfRows(CLI::App* command, std::vector<std::string>* runs);

}  // namespace lra

#endif  // LRA_CLI_FLAGS_H_
