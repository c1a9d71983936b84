#include "cli/flags.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/parallel.h"

namespace lra {
namespace {

CLI::Validator NotEmpty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? kIsEmpty : ""; }, "");
}

template <class T>
struct NumberIn {
  using type = T;
};
template <class T>
struct NumberIn<std::optional<T>> {
  using type = T;
};

// The smallest and largest number that the rules allow; with kPositive the smallest is not one of
// them unless numbers are whole.
template <class Number>
std::pair<double, double> BoundsOf(const FlagRules& rules) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  switch (rules.allowed) {
    case FlagRules::kNonNegative:
      return {0, kLargest};
    case FlagRules::kPositive:
      return {std::is_integral_v<Number> ? 1 : 0, kLargest};
    case FlagRules::kRange:
      return {rules.least, rules.largest};
    case FlagRules::kAny:
      break;
  }
  return {std::is_unsigned_v<Number> ? 0 : -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::infinity()};
}

// "at least 1", "above 0", "0 to 100"; empty where all numbers are allowed.
template <class Number>
std::string BoundsText(const FlagRules& rules) {
  const auto [least, largest] = BoundsOf<Number>(rules);
  if (rules.allowed == FlagRules::kRange) return absl::StrFormat("%.10g to %.10g", least, largest);
  if (rules.allowed == FlagRules::kPositive && !std::is_integral_v<Number>) return "above 0";
  return std::isfinite(least) ? absl::StrCat("at least ", least) : "";
}

// Whether the text is a whole number above those of the type.
template <class Number>
bool IsTooLarge(const std::string& text) {
  const bool is_whole = text.find_first_not_of("0123456789") == std::string::npos;
  double value = 0;
  if (!std::is_integral_v<Number> || !is_whole || !absl::SimpleAtod(text, &value)) return false;
  const auto largest = static_cast<double>(std::numeric_limits<Number>::max());
  // A double rounds the largest of 64 bits up to a power of two.
  return sizeof(Number) < 8 ? value > largest : value >= largest;
}

// Refuses what is no number, or none that the rules allow, in words; CLI11 prints the bounds of a
// double with all of their digits.
template <class Number>
std::string NumberError(const FlagRules& rules, const std::string& text) {
  const std::string bounds = BoundsText<Number>(rules);
  Number number{};
  // CLI11 would take the largest number there is.
  if (IsTooLarge<Number>(text)) {
    return absl::StrCat("is ", text, ", must be ",
                        rules.allowed == FlagRules::kRange
                            ? bounds
                            : absl::StrCat("at most ", std::numeric_limits<Number>::max()));
  }
  if (!CLI::detail::lexical_cast(text, number)) {
    return absl::StrCat("is ", text, ", must be a ", std::is_integral_v<Number> ? "whole " : "",
                        "number", bounds.empty() ? "" : ", ", bounds);
  }
  const auto [least, largest] = BoundsOf<Number>(rules);
  const auto value = static_cast<double>(number);
  const bool is_too_small = rules.allowed == FlagRules::kPositive ? !(value > 0) : value < least;
  if (!is_too_small && !(value > largest) && (bounds.empty() || !std::isnan(value))) return "";
  return absl::StrCat("is ", text, ", must be ", bounds);
}

// Beside the type of the value in the help.
template <class Number>
std::string BoundsInHelp(const FlagRules& rules) {
  switch (rules.allowed) {
    case FlagRules::kNonNegative:
      return "NONNEGATIVE";
    case FlagRules::kPositive:
      return "POSITIVE";
    case FlagRules::kRange:
      return BoundsText<Number>(rules);
    case FlagRules::kAny:
      break;
  }
  return "";
}

template <class Number>
void CheckNumber(const FlagRules& rules, CLI::Option* option) {
  option->check(
      CLI::Validator([rules](const std::string& text) { return NumberError<Number>(rules, text); },
                     BoundsInHelp<Number>(rules)));
}

// CLI11 reads "-4" as a huge number, and lists 40 units where it knows none.
CLI::Validator SizeValue() {
  const CLI::AsSizeValue as_size(/*kb_is_1000=*/true);
  return CLI::Validator(
      [as_size](std::string& text) -> std::string {
        const std::string given = text;
        try {
          if (given.find('-') == std::string::npos && as_size(text).empty()) return "";
        } catch (const CLI::ValidationError&) {
        }
        return absl::StrCat("is ", given, ", must be a size such as 800MB or 4GB");
      },
      "");
}

void Apply(const FlagRules& rules, CLI::App* command, CLI::Option* option) {
  option->required(rules.is_required);
  if (rules.shows_default) option->capture_default_str();
  option->check(NotEmpty());
  if (rules.value != nullptr) option->type_name(rules.value);
  if (rules.needs != nullptr) option->needs(command->get_option(rules.needs));
}

}  // namespace

template <class T>
void AddOption(CLI::App* command, const std::string& name, T* value, const std::string& text,
               const FlagRules& rules) {
  using Number = typename NumberIn<T>::type;
  CLI::Option* const option = command->add_option(name, *value, text);
  Apply(rules, command, option);
  if constexpr (std::is_arithmetic_v<Number>) CheckNumber<Number>(rules, option);
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
      ->allow_extra_args(false)
      ->check(NotEmpty())
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
  command->add_option(name, *value, text)
      ->type_name("SIZE")
      ->transform(SizeValue())
      ->transform(NotEmpty());
}

void AddThreads(CLI::App* command, int* threads, const std::string& note) {
  AddOption(command, "--threads", threads,
            "Threads, at most " + std::to_string(kMaxThreadsPerCore) +
                " times the cores; 0 = all cores" + note,
            {.shows_default = true,
             .allowed = FlagRules::kRange,
             .least = 0,
             .largest = static_cast<double>(MaxThreads())});
}

void AddDevice(CLI::App* command, std::string* device, const char* needs) {
  AddOption(command, "--device", device,
            "Where to compute: cpu, cuda, cuda:NUMBER, or fake, a GPU's stand-in for tests",
            {.shows_default = true, .needs = needs, .value = kDeviceValue});
}

void AddKernels(CLI::App* command, std::string* kernels) {
  AddOption(
      command, "--kernels", kernels,
      "Force generic, baseline, avx2, avx512 or amx code (default: $LRA_KERNELS, or the best of "
      "this machine). The last digits of a result depend on it",
      {.value = kKernelsValue});
}

void AddHalfLogits(CLI::App* command, bool* half_logits) {
  AddSwitch(command, "--half-logits", half_logits,
            "Store predictions as float16: half the bytes, the same guesses and scores");
}

void AddData(CLI::App* command, std::string* directory, const std::string& note) {
  AddOption(command, "--data", directory,
            "Folder of the prepared data (default: $LRA_DATA/TASK or, without LRA_DATA, "
            "./data/TASK" +
                note + ")",
            {.value = kFolderValue});
}

void AddDataOfRun(CLI::App* command, std::string* directory, bool* allows_other) {
  AddOption(command, "--data", directory,
            "Folder of the prepared data (default: the run's own or, where that is gone, "
            "$LRA_DATA/TASK or, without LRA_DATA, ./data/TASK)",
            {.value = kFolderValue});
  AddSwitch(
      command, "--other-data", allows_other,
      "Allow a split that holds other examples than the run's own, which is otherwise refused");
}

void AddRunsOfRows(CLI::App* command, std::vector<std::string>* runs) {
  AddRepeated(command, "--runs", runs,
              "A folder in which rows are looked for by name (default: runs); may be repeated",
              kFolderValue);
}

}  // namespace lra
