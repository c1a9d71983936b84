#include "tasks/prepare.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/part.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "tasks/dataset_builder.h"
#include "tasks/task.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

struct Plan {
  std::unique_ptr<Task> task;
  Manifest head;  // everything that is known before the first example
};

absl::Status CheckAsked(const PrepareOptions& options, const Task& task) {
  if (options.raw.empty() && !task.CanGenerate()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "task ", options.task, " is imported: give --raw (", task.RawDescription(), ")"));
  }
  if (!options.raw.empty() && options.seed.has_value()) {
    return absl::InvalidArgumentError("--seed is for generated data; --raw imports");
  }
  return absl::OkStatus();
}

absl::StatusOr<DataPart> ParseShard(const PrepareOptions& options, const Task& task) {
  LRA_ASSIGN_OR_RETURN(const Part asked, ParsePart(options.shard));
  if (!options.raw.empty()) {
    return absl::InvalidArgumentError("--shard is for generated data; --raw imports");
  }
  for (const SplitSize& split : task.Splits()) {
    if (asked.parts <= split.examples) continue;
    return absl::InvalidArgumentError(absl::StrCat("--shard ", options.shard, ": split ",
                                                   split.name, " has only ", split.examples,
                                                   " examples"));
  }
  DataPart part;
  part.set_index(asked.index);
  part.set_parts(asked.parts);
  return part;
}

absl::StatusOr<Plan> MakePlan(const PrepareOptions& options) {
  if (options.out.empty()) return absl::InvalidArgumentError("no output folder given");
  LRA_ASSIGN_OR_RETURN(TaskFile file, LoadTaskFile(options.task));
  for (const std::string& assignment : options.set) {
    LRA_RETURN_IF_ERROR(SetField(&file, absl::StrCat("options.", assignment)));
  }
  LRA_RETURN_IF_ERROR(CheckRanges(file));
  Plan plan;
  if (file.data_only()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task \"", options.task, "\": its data is made by the program that wrote it"));
  }
  LRA_ASSIGN_OR_RETURN(plan.task, TaskRegistry::Get().Create("task", options.task, file.options()));
  LRA_RETURN_IF_ERROR(CheckAsked(options, *plan.task));
  plan.head.set_format_version(kDatasetFormatVersion);
  *plan.head.mutable_spec() = plan.task->Spec();
  plan.head.set_origin(options.raw.empty() ? "generated" : "imported");
  if (options.raw.empty()) plan.head.set_seed(options.seed.value_or(file.canonical_seed()));
  *plan.head.mutable_options() = file.options();
  if (!options.shard.empty()) {
    LRA_ASSIGN_OR_RETURN(*plan.head.mutable_part(), ParseShard(options, *plan.task));
  }
  if (options.raw.empty()) {
    for (ExtraColumn& column : plan.task->ExtraColumns()) {
      *plan.head.add_extra_columns() = std::move(column);
    }
  }
  return plan;
}

std::string WithoutProgram(Manifest manifest) {
  manifest.clear_program();
  return ToTextProto(manifest);
}

bool SameHead(Manifest manifest, const Manifest& head) {
  manifest.clear_splits();
  manifest.clear_duplicates();
  manifest.clear_shared_documents();
  manifest.clear_sources();
  manifest.clear_skipped();
  return WithoutProgram(std::move(manifest)) == ToTextProto(head);
}

absl::Status OtherDataError(const PrepareOptions& options, const Manifest& there) {
  const std::string what = there.origin() == "generated"
                               ? absl::StrCat("generated with seed ", there.seed())
                               : "imported";
  return absl::AlreadyExistsError(
      absl::StrCat("\"", options.out, "\" holds other data (task ", there.spec().name(), ", ", what,
                   ", or with other options); choose another --out, or replace it with --force"));
}

// Reads the data that is there; if it is not in order, the error says what to do.
absl::StatusOr<Manifest> ReadIntact(const PrepareOptions& options) {
  const absl::StatusOr<Dataset> data =
      Dataset::Open(options.out, {.allow_part = true, .threads = options.threads});
  if (data.ok()) return data->manifest();
  return absl::AlreadyExistsError(absl::StrCat("\"", options.out,
                                               "\" holds damaged data: ", data.status().message(),
                                               "; replace it with --force"));
}

enum class Target { kFree, kData, kOther };

Target Inspect(const std::string& out) {
  std::error_code error;
  if (!fs::exists(out, error)) return Target::kFree;
  if (fs::is_directory(out, error) && fs::is_empty(out, error)) return Target::kFree;
  return FileExists(JoinPath(out, kManifestFile)) ? Target::kData : Target::kOther;
}

// The data that is there, if it is the plan's as far as that is known before it is made, and is not
// to be replaced.
absl::StatusOr<std::optional<Manifest>> WhatIsThere(const PrepareOptions& options,
                                                    const Plan& plan) {
  const Target target = Inspect(options.out);
  if (target == Target::kOther) {
    return absl::AlreadyExistsError(absl::StrCat(
        "\"", options.out, "\" exists and is no data set; it is left alone: choose another --out"));
  }
  if (target == Target::kFree) return std::optional<Manifest>();
  if (options.force) {
    const absl::Status replaceable = CheckHoldsOnlyData(options.out);
    if (replaceable.ok()) return std::optional<Manifest>();
    return absl::AlreadyExistsError(
        absl::StrCat(replaceable.message(),
                     "; --force replaces nothing but data: move it away, or choose another --out"));
  }
  LRA_ASSIGN_OR_RETURN(Manifest there, ReadIntact(options));
  if (!SameHead(there, plan.head)) return OtherDataError(options, there);
  return std::optional<Manifest>(std::move(there));
}

PrepareOptions WithPlainOut(PrepareOptions options) {
  while (options.out.size() > 1 && absl::EndsWith(options.out, "/")) options.out.pop_back();
  return options;
}

// What is counted now need not have been when the data that is there was made.
Manifest CountedAs(const Manifest& there, Manifest made) {
  for (int i = 0; i < made.duplicates_size(); ++i) {
    if (i < there.duplicates_size() && !there.duplicates(i).has_with_other_label())
      made.mutable_duplicates(i)->clear_with_other_label();
  }
  return made;
}

// For what was made, where data is there; what an import gives is known only now.
absl::StatusOr<PrepareResult> KeepIfSame(const PrepareOptions& options, const Manifest& made,
                                         const Manifest& there) {
  if (WithoutProgram(CountedAs(there, made)) != WithoutProgram(there))
    return OtherDataError(options, there);
  return PrepareResult{there, true};
}

// Where another process has made data in the folder meanwhile, that data is kept, with `force` too.
absl::StatusOr<PrepareResult> CommitOrKeep(PrepareOptions options, const Plan& plan, Manifest made,
                                           StagingDirectory* staging) {
  const absl::Status committed = staging->Commit();
  if (absl::IsAlreadyExists(committed)) {
    options.force = false;
    LRA_ASSIGN_OR_RETURN(const std::optional<Manifest> there, WhatIsThere(options, plan));
    if (there) return KeepIfSame(options, made, *there);
  }
  LRA_RETURN_IF_ERROR(committed);
  return PrepareResult{std::move(made), false};
}

absl::StatusOr<Manifest> Fill(const PrepareOptions& options, const Plan& plan,
                              absl::string_view directory) {
  int64_t total = 0;
  const std::vector<ExampleRange> ranges = PartRanges(plan.task->Splits(), plan.head.part());
  if (options.raw.empty()) {
    for (const ExampleRange& range : ranges) total += range.last - range.first;
  }
  Progress progress({.label = absl::StrCat("prepare ", options.task),
                     .unit = "examples",
                     .total = total,
                     .quiet = options.quiet});
  DatasetBuilder builder(directory, plan.head, plan.task->Splits());
  LRA_RETURN_IF_ERROR(
      options.raw.empty()
          ? GenerateInto(*plan.task, plan.head.seed(), ranges, options.threads, &progress, &builder)
          : ImportInto(*plan.task, options.raw, directory, options.threads, &progress, &builder));
  LRA_ASSIGN_OR_RETURN(Manifest manifest, builder.Finish());
  progress.Finish();
  return manifest;
}

}  // namespace

absl::StatusOr<PrepareResult> Prepare(const PrepareOptions& asked) {
  const PrepareOptions options = WithPlainOut(asked);
  LRA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  const Target target = Inspect(options.out);
  LRA_ASSIGN_OR_RETURN(const std::optional<Manifest> there, WhatIsThere(options, plan));
  if (there && options.raw.empty()) return PrepareResult{*there, true};
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging,
                       StagingDirectory::Create(options.out, /*replace=*/target == Target::kData));
  LRA_ASSIGN_OR_RETURN(Manifest manifest, Fill(options, plan, staging.path()));
  if (there) return KeepIfSame(options, manifest, *there);
  return CommitOrKeep(options, plan, std::move(manifest), &staging);
}

absl::StatusOr<bool> IsPrepared(const PrepareOptions& asked) {
  const PrepareOptions options = WithPlainOut(asked);
  LRA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  LRA_ASSIGN_OR_RETURN(const std::optional<Manifest> there, WhatIsThere(options, plan));
  return there.has_value();
}

}  // namespace lra
