// lra data list | prepare | join | verify | show
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "datasets/manifest.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/inventory.h"
#include "tasks/join.h"
#include "tasks/prepare.h"
#include "tasks/task.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// DIR|TASK: a folder that is there, otherwise a task's usual place.
std::string ResolveData(const std::string& name) {
  if (FileExists(JoinPath(name, kManifestFile)) || !TaskRegistry::Get().Has(name)) return name;
  return DefaultDataDirectory(name);
}

Json SplitsJson(const Manifest& manifest) {
  Json splits = Json::array();
  for (const ManifestSplit& split : manifest.splits()) {
    splits.push_back({{"name", split.name()},
                      {"examples", split.examples()},
                      {"tokens", split.tokens()},
                      {"content_fingerprint", split.content_fingerprint()}});
  }
  return splits;
}

void PrintSplits(const Manifest& manifest) {
  for (const ManifestSplit& split : manifest.splits()) {
    std::cout << absl::StrFormat("  %-10s %9s examples %13s tokens  %s\n", split.name(),
                                 FormatCount(split.examples()), FormatCount(split.tokens()),
                                 split.content_fingerprint().substr(0, 16));
  }
}

template <class Duplicates>
void PrintDuplicates(const Duplicates& duplicates) {
  for (const DuplicateExamples& entry : duplicates) {
    std::cout << "  duplicates: " << FormatCount(entry.count()) << " examples of " << entry.split()
              << (entry.split() == entry.earlier_split()
                      ? " repeat an input of the same split\n"
                      : absl::StrCat(" have an input that occurs in ", entry.earlier_split(),
                                     "\n"));
  }
}

template <class Shared>
void PrintSharedDocuments(const Shared& shared) {
  for (const SharedDocuments& entry : shared) {
    std::cout << "  leakage: " << FormatCount(entry.shared()) << " of the "
              << FormatCount(entry.documents()) << " texts of " << entry.split() << " occur in "
              << entry.earlier_split() << "; they stand in " << FormatCount(entry.examples())
              << " examples\n";
  }
}

// What a reader of a manifest should know beside its splits.
void PrintCounts(const Manifest& manifest) {
  for (const ManifestSplit& split : manifest.splits()) {
    if (split.ambiguous_examples() == 0) continue;
    std::cout << "  ambiguous: " << FormatCount(split.ambiguous_examples()) << " examples of "
              << split.name() << ", whose input does not decide the label\n";
  }
  for (const SkippedExamples& entry : manifest.skipped()) {
    std::cout << "  left out: " << FormatCount(entry.count()) << ": " << entry.reason() << "\n";
  }
}

template <class Duplicates, class Shared>
Json LeakageJson(const Duplicates& duplicates, const Shared& shared) {
  Json all = {{"duplicates", Json::array()}, {"shared_documents", Json::array()}};
  for (const DuplicateExamples& entry : duplicates) {
    all["duplicates"].push_back({{"earlier_split", entry.earlier_split()},
                                 {"split", entry.split()},
                                 {"count", entry.count()}});
  }
  for (const SharedDocuments& entry : shared) {
    all["shared_documents"].push_back({{"earlier_split", entry.earlier_split()},
                                       {"split", entry.split()},
                                       {"shared", entry.shared()},
                                       {"documents", entry.documents()},
                                       {"examples", entry.examples()}});
  }
  return all;
}

const char* YesNo(bool value) { return value ? "yes" : "no"; }

absl::Status List(const CommandContext& context) {
  Json all = Json::array();
  for (const std::string& task : TaskRegistry::Get().Names()) {
    LRA_ASSIGN_OR_RETURN(const DatasetStatus status, Inspect(task, DefaultDataDirectory(task)));
    if (context.json) {
      all.push_back({{"task", status.task},
                     {"state", status.state},
                     {"directory", status.directory},
                     {"origin", status.origin},
                     {"canonical", status.canonical},
                     {"examples", status.examples},
                     {"size_bytes", status.size_bytes},
                     {"command", status.command},
                     {"raw", status.raw}});
      continue;
    }
    std::cout << absl::StrFormat("%-12s %-8s %s\n", status.task, status.state, status.description);
    if (status.state == "present") {
      std::cout << absl::StrFormat("  %s: %s, %s examples, %s, canonical: %s\n", status.directory,
                                   status.origin, FormatCount(status.examples),
                                   FormatBytes(status.size_bytes), YesNo(status.canonical));
    } else {
      std::cout << "  " << status.directory << ": make it with: " << status.command
                << (status.state == "damaged" ? " --force" : "") << "\n";
      if (!status.raw.empty()) std::cout << "  or with --raw PATH: " << status.raw << "\n";
    }
  }
  if (context.json) std::cout << all.dump(2) << "\n";
  return absl::OkStatus();
}

void PrintPrepared(const std::string& directory, const Manifest& manifest, bool was_there,
                   const CommandContext& context) {
  const bool canonical = IsCanonical(manifest);
  if (context.json) {
    std::cout << Json{{"directory", directory},
                      {"was_there", was_there},
                      {"origin", manifest.origin()},
                      {"canonical", canonical},
                      {"splits", SplitsJson(manifest)},
                      {"leakage", LeakageJson(manifest.duplicates(), manifest.shared_documents())}}
                     .dump(2)
              << "\n";
    return;
  }
  std::cout << directory << ": " << manifest.spec().name() << ", " << manifest.origin();
  if (manifest.has_part()) {
    std::cout << ", part " << manifest.part().index() << "/" << manifest.part().parts();
  }
  std::cout << ", canonical: " << YesNo(canonical)
            << (was_there ? "; it was there already, nothing was done\n" : "\n");
  PrintSplits(manifest);
  PrintCounts(manifest);
  PrintDuplicates(manifest.duplicates());
  PrintSharedDocuments(manifest.shared_documents());
}

absl::Status RunPrepare(PrepareOptions options, const CommandContext& context) {
  options.quiet = context.quiet;
  if (options.out.empty()) options.out = DefaultDataDirectory(options.task);
  LRA_ASSIGN_OR_RETURN(const PrepareResult result, Prepare(options));
  PrintPrepared(options.out, result.manifest, result.was_there, context);
  return absl::OkStatus();
}

absl::Status RunJoin(JoinOptions options, const CommandContext& context) {
  options.quiet = context.quiet;
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, JoinParts(options));
  PrintPrepared(options.out, manifest, false, context);
  return absl::OkStatus();
}

void PrintReport(const std::string& directory, const VerifyReport& report) {
  std::cout << directory << ": " << report.manifest.spec().name() << ", "
            << report.manifest.origin() << ", " << (report.ok() ? "valid" : "NOT VALID")
            << ", canonical: " << YesNo(report.canonical) << "\n";
  PrintSplits(report.manifest);
  if (report.labels_checked > 0) {
    std::cout << "  labels evaluated anew: " << FormatCount(report.labels_checked) << "\n";
  }
  PrintCounts(report.manifest);
  PrintDuplicates(report.duplicates);
  PrintSharedDocuments(report.shared_documents);
  for (const std::string& note : report.notes) std::cout << "  note: " << note << "\n";
  for (const std::string& problem : report.problems) std::cout << "  problem: " << problem << "\n";
}

void PrintReportJson(const std::string& directory, const VerifyReport& report) {
  std::cout << Json{{"directory", directory},
                    {"task", report.manifest.spec().name()},
                    {"origin", report.manifest.origin()},
                    {"valid", report.ok()},
                    {"canonical", report.canonical},
                    {"labels_checked", report.labels_checked},
                    {"splits", SplitsJson(report.manifest)},
                    {"leakage", LeakageJson(report.duplicates, report.shared_documents)},
                    {"notes", report.notes},
                    {"problems", report.problems}}
                   .dump(2)
            << "\n";
}

absl::Status Verify(const std::string& name, VerifyOptions options, const CommandContext& context) {
  options.quiet = context.quiet;
  const std::string directory = ResolveData(name);
  LRA_ASSIGN_OR_RETURN(const VerifyReport report, VerifyDataset(directory, options));
  context.json ? PrintReportJson(directory, report) : PrintReport(directory, report);
  if (report.ok()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory, " is not valid: ", report.problems.size(), " problem(s)"));
}

struct ShowFlags {
  std::string data, split, png;
  int64_t count = 5;
};

absl::Status Show(const ShowFlags& flags, const CommandContext& context) {
  if (!flags.png.empty()) {
    LRA_RETURN_IF_ERROR(DrawExamples(ResolveData(flags.data), flags.split, flags.count, flags.png));
    std::cout << flags.png << "\n";
    return absl::OkStatus();
  }
  LRA_ASSIGN_OR_RETURN(const std::vector<ShownExample> examples,
                       ShowExamples(ResolveData(flags.data), flags.split, flags.count));
  Json all = Json::array();
  for (const ShownExample& example : examples) {
    if (context.json) {
      all.push_back({{"split", example.split},
                     {"index", example.index},
                     {"length_tokens", example.length_tokens},
                     {"source", example.source},
                     {"label", example.label}});
    } else {
      std::cout << example.split << "[" << example.index << "]  label " << example.label << "  "
                << FormatCount(example.length_tokens) << " tokens\n  " << example.source << "\n";
    }
  }
  if (context.json) std::cout << all.dump(2) << "\n";
  return absl::OkStatus();
}

void AddPrepare(CLI::App* data, CommandContext* context) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* command = data->add_subcommand("prepare", "Make a data set from raw files or a seed");
  command->add_option("task", options->task, "Task: lra list tasks")->required();
  command->add_option("--raw", options->raw,
                      "Folder or archive of official files; - = an archive on standard input");
  command->add_option("--out", options->out, "Folder (default: $LRA_DATA/TASK, ./data/TASK)");
  command->add_option("--seed", options->seed,
                      "Generate with this seed (default: the canonical one)");
  command->add_option("--threads", options->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--set", options->set, "A task option, e.g. max_depth=5; repeatable")
      ->allow_extra_args(false);
  command->add_option("--shard", options->shard,
                      "Make part k of n (k/n, k from 0) of generated data; see lra data join");
  command->add_flag("--force", options->force, "Replace a data set that is there");
  AddCommonFlags(command, context,
                 "  lra data prepare listops\n"
                 "  lra data prepare listops --raw lra_release.gz --out data/listops-official\n"
                 "  lra data prepare pathx --shard 3/16 --out parts/3");
  command->callback(
      RunCommand(context, [options, context] { return RunPrepare(*options, *context); }));
}

void AddJoin(CLI::App* data, CommandContext* context) {
  auto options = std::make_shared<JoinOptions>();
  CLI::App* command =
      data->add_subcommand("join", "Put parts together that `prepare --shard` made, anywhere");
  command->add_option("parts", options->parts, "Folders of all parts, in any order")->required();
  command->add_option("--out", options->out, "Folder of the whole")->required();
  command->add_option("--threads", options->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra data join parts/0 parts/1 --out data/pathx\n"
                 "  lra data join parts/* --out data/pathx --json");
  command->callback(
      RunCommand(context, [options, context] { return RunJoin(*options, *context); }));
}

void AddVerify(CLI::App* data, CommandContext* context) {
  auto name = std::make_shared<std::string>();
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = data->add_subcommand(
      "verify",
      "Check every byte, and evaluate every label anew; exit code 1 if anything is wrong");
  command->add_option("data", *name, "Folder of a data set, or task")->required();
  command->add_option("--threads", options->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra data verify listops\n"
                 "  lra data verify data/listops --json");
  command->callback(
      RunCommand(context, [name, options, context] { return Verify(*name, *options, *context); }));
}

void AddShow(CLI::App* data, CommandContext* context) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = data->add_subcommand("show", "Print examples in readable form");
  command->add_option("data", flags->data, "Folder of a data set, or task")->required();
  command->add_option("--split", flags->split, "A stored split (default: the first)");
  command->add_option("--n", flags->count, "How many, from the first")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--png", flags->png,
                      "Draw images into this file, framed by label (0 red, 1 green)");
  AddCommonFlags(command, context,
                 "  lra data show listops --n 3\n"
                 "  lra data show pathfinder32 --n 60 --png pathfinder32.png");
  command->callback(RunCommand(context, [flags, context] { return Show(*flags, *context); }));
}

}  // namespace

void AddDataCommand(CLI::App* app, CommandContext* context) {
  CLI::App* data = app->add_subcommand("data", "Make, check and look at data sets");
  data->require_subcommand(1);
  data->footer("Examples:\n  lra data list\n  lra data prepare listops");
  CLI::App* list = data->add_subcommand("list", "For each task: what is there and how to get it");
  AddCommonFlags(list, context, "  lra data list\n  LRA_DATA=/big/disk lra data list --json");
  list->callback(RunCommand(context, [context] { return List(*context); }));
  AddPrepare(data, context);
  AddJoin(data, context);
  AddVerify(data, context);
  AddShow(data, context);
}

}  // namespace lra
