#include "cli/flags.h"

#include <optional>
#include <vector>

#include "CLI/CLI.hpp"
#include "lra/parallel.h"

namespace lra {
namespace {

void Apply(const FlagRules& rules, CLI::App* command, CLI::Option* option) {
  option->required(rules.is_required);
  if (rules.shows_default) option->capture_default_str();
  switch (rules.allowed) {
    case FlagRules::kAny:
      break;
    case FlagRules::kNonNegative:
      option->check(CLI::NonNegativeNumber);
      break;
    case FlagRules::kPositive:
      option->check(CLI::PositiveNumber);
      break;
    case FlagRules::kRange:
      option->check(CLI::Range(rules.least, rules.largest));
      break;
  }
  if (rules.value != nullptr) option->type_name(rules.value);
  if (rules.needs != nullptr) option->needs(command->get_option(rules.needs));
}

}  // namespace

template <class T>
void AddOption(CLI::App* command, const std::string& name, T* value, const std::string& text,
               const FlagRules& rules) {
  Apply(rules, command, command->add_option(name, *value, text));
}

template void AddOption(CLI::App*, const std::string&, std::string*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, int*, const std::string&, const FlagRules&);
template void AddOption(CLI::App*, const std::string&, int64_t*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, uint32_t*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, double*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, std::optional<int64_t>*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, std::optional<uint32_t>*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, std::optional<double>*, const std::string&,
                        const FlagRules&);
template void AddOption(CLI::App*, const std::string&, std::vector<std::string>*,
                        const std::string&, const FlagRules&);

void AddRepeated(CLI::App* command, const std::string& name, std::vector<std::string>* values,
                 const std::string& text, const char* value) {
  command->add_option(name, *values, text)
      ->type_name(value)
      // One value a flag: what follows it may be a positional argument.
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddSets(CLI::App* command, std::vector<std::string>* sets, const std::string& text,
             const char* value) {
  AddRepeated(command, "--set", sets, text, value);
}

void AddSwitch(CLI::App* command, const std::string& name, bool* value, const std::string& text) {
  command->add_flag(name, *value, text);
}

void AddBytes(CLI::App* command, const std::string& name, uint64_t* value,
              const std::string& text) {
  command->add_option(name, *value, text)->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
}

void AddThreads(CLI::App* command, int* threads, const std::string& note) {
  AddOption(
      command, "--threads", threads,
      "Threads, at most " + std::to_string(kMaxThreadsPerCore) + " times the cores; 0 = all cores" +
          note,
      {.allowed = FlagRules::kRange, .least = 0, .largest = static_cast<double>(MaxThreads())});
}

void AddDevice(CLI::App* command, std::string* device, const char* needs) {
  AddOption(command, "--device", device, "cpu, cuda, cuda:NUMBER, or fake (lra check)",
            {.shows_default = true, .needs = needs, .value = kDeviceValue});
}

void AddKernels(CLI::App* command, std::string* kernels) {
  AddOption(command, "--kernels", kernels,
            "Force generic, baseline, avx2 or avx512 code (default: $LRA_KERNELS, or the best of "
            "this machine). The last digits of a result depend on it",
            {.value = kKernelsValue});
}

void AddHalfLogits(CLI::App* command, bool* half_logits) {
  AddSwitch(command, "--half-logits", half_logits,
            "Store predictions as float16: half the bytes, the same guesses and scores");
}

void AddData(CLI::App* command, std::string* directory, const std::string& note) {
  AddOption(command, "--data", directory,
            "Prepared data (default: $LRA_DATA/TASK, ./data/TASK" + note + ")");
}

void AddDataOfRun(CLI::App* command, std::string* directory, bool* allows_other) {
  AddOption(command, "--data", directory,
            "Prepared data (default: the run's own or, where that is gone, $LRA_DATA/TASK, "
            "./data/TASK)");
  AddSwitch(command, "--other-data", allows_other,
            "Take a split that holds other examples than the run's own");
}

}  // namespace lra
