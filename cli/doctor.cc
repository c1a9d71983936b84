#include "eval/doctor.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/doctor_case.h"
#include "lra/status_macros.h"
#include "models/runtime.h"
#include "nlohmann/json.hpp"
#include "train/run_folder.h"

namespace lra {
namespace {

struct DoctorFlags {
  std::string run, data;
  int threads = 0;
};

void PrintText(const Diagnosis& diagnosis) {
  for (const std::string& note : diagnosis.notes) std::cout << note << "\n";
  if (diagnosis.findings.empty()) std::cout << "\nno cause for concern was found\n";
  int rank = 0;
  for (const Finding& finding : diagnosis.findings) {
    std::cout << "\n"
              << ++rank << ". " << finding.cause << " (" << StrengthName(finding.strength) << ")\n"
              << "   observed: " << finding.observed << "\n"
              << "   expected: " << finding.expected << "\n"
              << "   landmark: " << finding.landmark << "\n"
              << "   fix:      " << finding.fix << "\n";
  }
}

void PrintJson(const std::string& run, const Diagnosis& diagnosis) {
  nlohmann::ordered_json json = {{"run", run},
                                 {"healthy", diagnosis.findings.empty()},
                                 {"findings", nlohmann::ordered_json::array()},
                                 {"notes", diagnosis.notes}};
  for (const Finding& finding : diagnosis.findings) {
    json["findings"].push_back({{"cause", finding.cause},
                                {"strength", StrengthName(finding.strength)},
                                {"observed", finding.observed},
                                {"expected", finding.expected},
                                {"landmark", finding.landmark},
                                {"fix", finding.fix}});
  }
  std::cout << json.dump(2) << "\n";
}

absl::Status Doctor(const DoctorFlags& flags, CommandContext* context) {
  StartRuntime(flags.threads);
  std::vector<std::string> failures;
  std::string data = flags.data;
  if (data.empty()) {
    LRA_ASSIGN_OR_RETURN(const RunFolder folder, ReadRunFolder(flags.run));
    data = DefaultDataDirectory(folder.record.config().task());
  }
  LRA_ASSIGN_OR_RETURN(const DoctorCase facts,
                       GatherCase(flags.run, data, !flags.data.empty(), flags.threads, &failures));
  LRA_ASSIGN_OR_RETURN(Diagnosis diagnosis, Diagnose(facts));
  diagnosis.notes.insert(diagnosis.notes.end(), failures.begin(), failures.end());
  context->json ? PrintJson(flags.run, diagnosis) : PrintText(diagnosis);
  if (diagnosis.findings.empty()) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat(flags.run, ": likeliest cause: ", diagnosis.findings.front().cause));
}

}  // namespace

void AddDoctorCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = app->add_subcommand(
      "doctor",
      "Compare a run with landmarks and name what is likely wrong; exit code 1 if "
      "anything is");
  command->add_option("run", flags->run, "Run folder, finished or not")->required();
  command->add_option("--data", flags->data,
                      "Prepared data (default: $LRA_DATA/TASK, ./data/TASK; without it labels and "
                      "splits are not looked at)");
  command->add_option("--threads", flags->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra doctor runs/listops-linear-small-s0\n"
                 "  lra doctor runs/listops-linear-small-s0 --data data/listops --json");
  command->callback(RunCommand(context, [flags, context] { return Doctor(*flags, context); }));
}

}  // namespace lra
