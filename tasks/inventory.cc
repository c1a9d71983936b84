#include "tasks/inventory.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "tasks/task.h"

namespace lra {
namespace {

std::string TextBySpec(const TaskSpec& spec, absl::Span<const uint16_t> tokens) {
  return absl::StrJoin(tokens, " ", [&spec](std::string* out, uint16_t id) {
    if (id < spec.token_names_size()) {
      absl::StrAppend(out, spec.token_names(id));
    } else {
      absl::StrAppend(out, id);
    }
  });
}

}  // namespace

absl::StatusOr<DatasetStatus> Inspect(absl::string_view task, absl::string_view directory) {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(task));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> implementation,
                       TaskRegistry::Get().Create("task", task, file.options()));
  DatasetStatus status{.task = std::string(task),
                       .description = file.description(),
                       .directory = std::string(directory),
                       .state = "present",
                       .origin = "",
                       .command = absl::StrCat("lra data prepare ", task)};
  if (!implementation->CanGenerate()) absl::StrAppend(&status.command, " --raw PATH");
  const absl::StatusOr<Manifest> manifest = ReadManifest(directory);
  if (!manifest.ok()) {
    status.state = absl::IsNotFound(manifest.status()) ? "missing" : "damaged";
    return status;
  }
  status.origin = manifest->origin();
  status.canonical = IsCanonical(*manifest);
  for (const ManifestSplit& split : manifest->splits()) {
    status.examples += split.examples();
    for (const ManifestShard& shard : split.shards()) {
      for (const ManifestFile& shard_file : shard.files()) {
        status.size_bytes += shard_file.size_bytes();
      }
    }
  }
  return status;
}

absl::StatusOr<std::vector<ShownExample>> ShowExamples(absl::string_view directory,
                                                       absl::string_view split, int64_t count) {
  LRA_ASSIGN_OR_RETURN(const Dataset data,
                       Dataset::Open(directory, {.splits = {std::string(split)}}));
  const internal::MappedSplit* stored = data.split(split);
  const absl::StatusOr<std::unique_ptr<Task>> task = TaskOf(data.manifest());
  std::vector<ShownExample> shown;
  std::vector<uint16_t> scratch;
  for (int64_t i = 0; i < std::min(count, stored->examples); ++i) {
    const absl::Span<const uint16_t> tokens = stored->Tokens(i, &scratch);
    shown.push_back({i, stored->length_tokens(i), stored->label(i),
                     task.ok() ? (*task)->ToText(tokens) : TextBySpec(data.spec(), tokens)});
  }
  return shown;
}

}  // namespace lra
