#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "eval/run_record.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

struct DiffFlags {
  std::string a, b;
};

void PrintText(const std::vector<FieldDifference>& differences) {
  for (const FieldDifference& d : differences)
    std::cout << d.path << ": " << d.a << " -> " << d.b << "\n";
  if (differences.empty()) std::cout << "no difference (times, host and resumes aside)\n";
}

void PrintDifferences(const DiffFlags& flags, const std::vector<FieldDifference>& differences) {
  nlohmann::ordered_json json = {
      {"a", flags.a}, {"b", flags.b}, {"differences", nlohmann::ordered_json::array()}};
  for (const FieldDifference& d : differences) {
    json["differences"].push_back({{"field", d.path}, {"a", d.a}, {"b", d.b}});
  }
  PrintJson(json);
}

// The exit code is 1 if the runs differ, as that of diff(1).
absl::Status Diff(const DiffFlags& flags, CommandContext* context) {
  LRA_ASSIGN_OR_RETURN(const RunRecord a, ReadRunRecord(flags.a));
  LRA_ASSIGN_OR_RETURN(const RunRecord b, ReadRunRecord(flags.b));
  const std::vector<FieldDifference> differences = DiffRecords(a, b);
  context->json ? PrintDifferences(flags, differences) : PrintText(differences);
  if (differences.empty()) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat(flags.a, " and ", flags.b, " differ in ", differences.size(), " fields"));
}

}  // namespace

void AddDiffCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App* command = AddCommand(app, "diff",
                                 "What differs between two runs, configuration first, results "
                                 "last; exit code 1 if anything does");
  AddOption(command, "run_a", &flags->a, "Run folder", {.is_required = true});
  AddOption(command, "run_b", &flags->b, "Run folder", {.is_required = true});
  SetBody(command, context,
          "  lra diff runs/listops-linear-small-s0 runs/listops-cosformer-small-s0\n"
          "  lra diff runs/listops-linear-small-s0 runs/listops-linear-small-s1 --json",
          [flags, context] { return Diff(*flags, context); });
}

}  // namespace lra
