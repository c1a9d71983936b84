#include "eval/doctor.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "inspect/doctor_case.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/task_facts.h"

namespace lra {
namespace {

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

void PrintDiagnosis(const std::string& run, const Diagnosis& diagnosis) {
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
  PrintJson(json);
}

absl::Status Doctor(const CaseRequest& request, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(StartComputing(request.threads, context));
  LRA_ASSIGN_OR_RETURN(const GatheredCase gathered, GatherCase(request));
  LRA_ASSIGN_OR_RETURN(Diagnosis diagnosis, Diagnose(gathered.facts));
  diagnosis.notes.insert(diagnosis.notes.end(), gathered.notes.begin(), gathered.notes.end());
  context.json ? PrintDiagnosis(request.run, diagnosis) : PrintText(diagnosis);
  if (diagnosis.findings.empty()) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat(request.run, ": likeliest cause: ", diagnosis.findings.front().cause));
}

}  // namespace

void AddDoctorCommand(CLI::App* app, CommandContext* context) {
  auto request = std::make_shared<CaseRequest>();
  request->knowledge_of = KnowledgeOfTask;
  CLI::App* command = AddCommand(
      app, "doctor",
      "Compare a run with landmarks and name what is likely wrong; exit code 1 if anything is");
  AddOption(command, "run", &request->run, "Run folder, finished or not", {.is_required = true});
  AddOption(command, "--data", &request->data_dir,
            "Folder of the prepared data (default: the run's own or, where that is gone, "
            "$LRA_DATA/TASK or, without LRA_DATA, ./data/TASK; without data labels and splits are "
            "not looked at)",
            {.value = kFolderValue});
  AddThreads(command, &request->threads);
  AddDevice(command, &request->device);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra doctor runs/listops-linear-small-s0\n"
          "  lra doctor runs/listops-linear-small-s0 --data data/listops --json",
          [request, context] { return Doctor(*request, *context); });
}

}  // namespace lra
