// lra data list | prepare | join | verify | export; adopt, import and show have files of their own
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/data_adopt.h"
#include "cli/data_import.h"
#include "cli/data_join.h"
#include "cli/data_output.h"
#include "cli/data_show.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "cli/prepare_on_cluster.h"
#include "datasets/data_directory.h"
#include "datasets/export.h"
#include "datasets/manifest.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"
#include "tasks/inventory.h"
#include "tasks/join.h"
#include "tasks/prepare.h"
#include "tasks/task.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

const char* CanonicalWord(absl::string_view task, bool is_canonical) {
  if (is_canonical) return "yes";
  return HasPinnedData(task) ? "no" : "nothing is pinned";
}

absl::Status List(const CommandContext& context) {
  Json all = Json::array();
  for (const std::string& task : DataSetNames()) {
    LRA_ASSIGN_OR_RETURN(const DatasetStatus status, Inspect(task, DefaultDataDirectory(task)));
    if (context.json) {
      all.push_back({{"task", status.task},
                     {"state", status.state},
                     {"description", status.description},
                     {"directory", status.directory},
                     {"origin", status.origin},
                     {"canonical", status.canonical},
                     {"examples", status.examples},
                     {"size_bytes", status.size_bytes},
                     {"command", status.command},
                     {"raw", status.raw}});
      continue;
    }
    std::cout << PadRight(status.task, 12) << " " << PadRight(status.state, 8) << " "
              << status.description << "\n";
    if (status.state == "present") {
      std::cout << absl::StrFormat("  %s: %s, %s examples, %s, canonical: %s\n", status.directory,
                                   status.origin, FormatCount(status.examples),
                                   FormatBytes(status.size_bytes),
                                   CanonicalWord(status.task, status.canonical));
    } else {
      std::cout << "  " << status.directory << ": "
                << (status.command.empty() ? "made by the program that wrote it"
                                           : absl::StrCat("make it with: ", status.command))
                << (status.state == "damaged" && !status.command.empty() ? " --force" : "") << "\n";
      if (!status.raw.empty()) std::cout << "  or with --raw PATH: " << status.raw << "\n";
    }
  }
  if (context.json) PrintJson(all);
  return absl::OkStatus();
}

void PrintPrepared(const std::string& directory, const Manifest& manifest, bool was_there,
                   const CommandContext& context) {
  const bool canonical = IsCanonical(manifest);
  if (context.json) {
    PrintJson({{"directory", directory},
               {"was_there", was_there},
               {"origin", manifest.origin()},
               {"canonical", canonical},
               {"splits", SplitsJson(manifest)},
               {"leakage", LeakageJson(LeakageOf(manifest))}});
    return;
  }
  std::cout << directory << ": " << manifest.spec().name() << ", " << manifest.origin();
  if (manifest.has_part())
    std::cout << ", part " << manifest.part().index() << "/" << manifest.part().parts();
  std::cout << ", canonical: " << CanonicalWord(manifest.spec().name(), canonical)
            << (was_there ? "; it was there already, nothing was done\n" : "\n");
  PrintSplits(manifest);
  PrintCounts(manifest);
  PrintLeakage(LeakageOf(manifest));
}

absl::Status RunPrepare(PrepareOptions options, const PartFlags& flags,
                        const CommandContext& context) {
  options.quiet = context.quiet;
  if (options.out.empty()) options.out = DefaultDataDirectory(options.task);
  LRA_ASSIGN_OR_RETURN(const std::optional<ClusterOptions> cluster, ClusterOf(flags.cluster));
  if (cluster) return PrepareOnCluster(options, flags, *cluster, context);
  if (flags.parts > 0 || flags.is_dry) {
    return absl::InvalidArgumentError(
        "--parts and --dry-run are about a cluster: add --executor slurm, or make single parts "
        "with --shard k/n");
  }
  LRA_ASSIGN_OR_RETURN(const PrepareResult result, Prepare(options));
  PrintPrepared(options.out, result.manifest, result.was_there, context);
  return absl::OkStatus();
}

absl::Status RunJoin(JoinOptions options, bool removes_parts, const CommandContext& context) {
  options.quiet = context.quiet;
  LRA_ASSIGN_OR_RETURN(const Manifest manifest,
                       removes_parts ? JoinAndRemoveParts(options) : JoinParts(options));
  PrintPrepared(options.out, manifest, false, context);
  return absl::OkStatus();
}

void PrintReport(const std::string& directory, const VerifyReport& report) {
  std::cout << directory << ": " << report.manifest.spec().name() << ", "
            << report.manifest.origin() << ", " << (report.ok() ? "valid" : "NOT VALID")
            << ", canonical: " << CanonicalWord(report.manifest.spec().name(), report.canonical)
            << "\n";
  PrintSplits(report.manifest);
  if (report.labels_checked > 0)
    std::cout << "  labels evaluated anew: " << FormatCount(report.labels_checked) << "\n";
  PrintCounts(report.manifest);
  PrintLeakage(LeakageOf(report));
  PrintNotes(report.notes);
  for (const std::string& problem : report.problems) std::cout << "  problem: " << problem << "\n";
}

void PrintReportJson(const std::string& directory, const VerifyReport& report) {
  PrintJson({{"directory", directory},
             {"task", report.manifest.spec().name()},
             {"origin", report.manifest.origin()},
             {"valid", report.ok()},
             {"canonical", report.canonical},
             {"labels_checked", report.labels_checked},
             {"splits", SplitsJson(report.manifest)},
             {"leakage", LeakageJson(LeakageOf(report))},
             {"notes", report.notes},
             {"problems", report.problems}});
}

absl::Status Verify(const std::string& name, VerifyOptions options, const CommandContext& context) {
  options.quiet = context.quiet;
  const std::string directory = DataDirectoryOf(name);
  const absl::StatusOr<VerifyReport> report = VerifyDataset(directory, options);
  if (!report.ok()) {
    // Damaged so that nothing more can be said of it.
    VerifyReport damage;
    damage.problems = {std::string(report.status().message())};
    if (context.json && absl::IsDataLoss(report.status())) PrintReportJson(directory, damage);
    return report.status();
  }
  context.json ? PrintReportJson(directory, *report) : PrintReport(directory, *report);
  if (report->ok()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory, " is not valid: ", report->problems.size(), " problem(s)"));
}

absl::Status Export(ExportRequest request, const CommandContext& context) {
  request.data_dir = DataDirectoryOf(request.data_dir);
  LRA_ASSIGN_OR_RETURN(const std::vector<ExportedSplit> splits, ExportView(request));
  Json all = Json::array();
  for (const ExportedSplit& split : splits) {
    all.push_back({{"name", split.name},
                   {"stored_split", split.stored_split},
                   {"examples", split.examples},
                   {"tokens", split.tokens},
                   {"fingerprint", split.fingerprint}});
    if (context.json) continue;
    PrintSplit(split.name, split.examples,
               absl::StrCat(" of stored ", PadRight(split.stored_split, 10)), split.tokens,
               split.fingerprint);
  }
  if (context.json) {
    PrintJson({{"out", request.out}, {"splits", all}});
  } else {
    std::cout << request.out << "\n";
  }
  return absl::OkStatus();
}

void AddPrepare(CLI::App* data, CommandContext* context) {
  auto options = std::make_shared<PrepareOptions>();
  auto flags = std::make_shared<PartFlags>();
  CLI::App* command = AddCommand(data, "prepare", "Make a data set from raw files or a seed");
  AddOption(command, "task", &options->task, "Task: lra list tasks",
            {.is_required = true, .value = kTaskValue});
  AddOption(command, "--raw", &options->raw,
            "Folder or archive of official files; - = an archive on standard input");
  AddOption(command, "--out", &options->out,
            "Folder of the data set (default: $LRA_DATA/TASK or, without LRA_DATA, ./data/TASK)",
            {.value = kFolderValue});
  AddOption(command, "--seed", &options->seed,
            "Generate with this seed (default: the canonical one)");
  AddThreads(command, &options->threads);
  AddSets(command, &options->set, "A task option, e.g. max_depth=5; may be repeated",
          kTaskOptionValue);
  AddOption(command, "--shard", &options->shard,
            "Make only part k of n of generated data, k from 0, e.g. 0/4; see lra data join",
            {.value = "k/n"});
  AddSwitch(command, "--force", &options->force, "Replace a data set that is there");
  AddPartFlags(command, flags.get());
  SetBody(command, context,
          "  lra data prepare listops\n"
          "  lra data prepare listops --raw lra_release.gz --out data/listops-official\n"
          "  lra data prepare pathx --shard 3/16 --out parts/3\n"
          "  lra data prepare pathx --executor slurm --parts 16 --partition cpu",
          [options, flags, context] { return RunPrepare(*options, *flags, *context); });
}

void AddJoin(CLI::App* data, CommandContext* context) {
  auto options = std::make_shared<JoinOptions>();
  auto removes_parts = std::make_shared<bool>(false);
  CLI::App* command =
      AddCommand(data, "join", "Put parts together that `prepare --shard` made, anywhere");
  AddOption(command, "parts", &options->parts, "Folders of all parts, in any order",
            {.is_required = true});
  AddOption(command, "--out", &options->out, "Folder of the whole",
            {.is_required = true, .value = kFolderValue});
  AddSwitch(command, "--remove-parts", removes_parts.get(),
            "Remove the parts once the whole is there");
  AddThreads(command, &options->threads);
  SetBody(
      command, context,
      "  lra data join parts/0 parts/1 --out data/pathx\n"
      "  lra data join parts/* --out data/pathx --json",
      [options, removes_parts, context] { return RunJoin(*options, *removes_parts, *context); });
}

void AddVerify(CLI::App* data, CommandContext* context) {
  auto name = std::make_shared<std::string>();
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = AddCommand(
      data, "verify",
      "Check every byte, and evaluate every label anew; exit code 1 if anything is wrong");
  AddOption(command, "data", name.get(), "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddThreads(command, &options->threads);
  SetBody(command, context,
          "  lra data verify listops\n"
          "  lra data verify data/listops --json",
          [name, options, context] { return Verify(*name, *options, *context); });
}

void AddExport(CLI::App* data, CommandContext* context) {
  auto request = std::make_shared<ExportRequest>();
  CLI::App* command = AddCommand(data, "export",
                                 "Write what a model reads under a view as .npy files: token ids, "
                                 "labels, and the original index of each example");
  AddOption(command, "data", &request->data_dir, "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddOption(command, "--out", &request->out, "A new folder",
            {.is_required = true, .value = kFolderValue});
  AddOption(command, "--split", &request->splits, "Splits of the view",
            {.shows_default = true, .value = kSplitValue});
  AddSwitch(command, "--without-inputs", &request->without_inputs,
            "Labels and indices only: no token ids");
  AddViewFlags(command, &request->view);
  AddThreads(command, &request->threads);
  SetBody(command, context,
          "  lra data export listops --out listops-view\n"
          "  lra data export data/text --out text-view --protocol lra2020 --split test",
          [request, context] { return Export(*request, *context); });
}

}  // namespace

void AddDataCommand(CLI::App* app, CommandContext* context) {
  CLI::App* data = AddGroup(app, "data", "Make, check and look at data sets",
                            "  lra data list\n  lra data prepare listops");
  CLI::App* list = AddCommand(data, "list", "For each task: what is there and how to get it");
  SetBody(list, context, "  lra data list\n  LRA_DATA=/big/disk lra data list --json",
          [context] { return List(*context); });
  AddPrepare(data, context);
  AddDataImport(data, context);
  AddJoin(data, context);
  AddVerify(data, context);
  AddDataAdopt(data, context);
  AddDataShow(data, context);
  AddExport(data, context);
}

}  // namespace lra
