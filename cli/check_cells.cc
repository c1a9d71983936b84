#include "cli/check_cells.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "lra/experiment.h"
#include "lra/status_macros.h"
#include "run_folder/find_checkpoint.h"
#include "suite/state.h"
#include "tasks/task_facts.h"
#include "train/encoder_recipe.h"
#include "train/request.h"
#include "train/trainable.h"

namespace lra {
namespace {

// The data's own manifest where the data is there.
absl::StatusOr<Manifest> ManifestOfCell(const SuiteCell& cell, const std::string& data_dir) {
  absl::StatusOr<Manifest> stored = ReadManifest(DataFolderOf(cell.config.task(), data_dir));
  if (stored.ok() && stored->spec().name() == cell.config.task()) return stored;
  return ManifestWithoutData(cell.config.task());
}

// The checkpoint; empty where the cell starts from initial weights, and where the encoder is gone:
// runs that are copied from another suite need none, and others say so.
absl::StatusOr<std::string> EncoderOfCell(const SuiteCell& cell) {
  if (cell.init_from.empty()) return "";
  absl::StatusOr<std::string> found;
  if (IsEncoderOfEachSeed(cell.init_from)) {
    const absl::StatusOr<OwnEncoder> own = FindOwnEncoder(cell.init_from, cell.config);
    found = own.ok() ? absl::StatusOr<std::string>(own->checkpoint) : own.status();
  } else {
    found = FindCheckpoint(cell.init_from);
  }
  if (absl::IsNotFound(found.status())) return "";
  LRA_RETURN_IF_ERROR(Annotate(found.status(), absl::StrCat("--init-from ", cell.init_from)));
  return found;
}

absl::Status CheckCell(const SuiteCell& cell, const std::string& data_dir) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ManifestOfCell(cell, data_dir));
  TrainRequest request;
  // Anew, because it tells who gave a length; `lra train` resolves the same.
  LRA_ASSIGN_OR_RETURN(request.resolved, ResolveExperiment(cell.choice));
  LRA_ASSIGN_OR_RETURN(request.start_checkpoint, EncoderOfCell(cell));
  return CheckTrainable(request, manifest);
}

}  // namespace

absl::Status CheckCells(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options) {
  std::set<std::string> names;
  std::vector<std::string> refused;
  for (const SuiteCell& cell : cells) {
    // Another seed changes no shape.
    if (names.count(CellName(cell)) > 0 ||
        !IsLeft(ReadCellStatus(options.out, cell), options.retries_failed))
      continue;
    names.insert(CellName(cell));
    if (const absl::Status status = CheckCell(cell, options.data_dir); !status.ok())
      refused.push_back(absl::StrCat(CellName(cell), ": ", status.message()));
  }
  if (refused.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(refused.size(), refused.size() == 1 ? " cell" : " cells",
                   " of the suite cannot be trained, so that none is; change or leave out\n  ",
                   absl::StrJoin(refused, "\n  ")));
}

}  // namespace lra
