// The score of a trained model on inputs whose structure was destroyed in part (`lra profile
// --perturb`).
#ifndef LRA_INSPECT_PERTURBED_H_
#define LRA_INSPECT_PERTURBED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/profile.h"
#include "inspect/open_checkpoint.h"

namespace lra {

struct PerturbedRequest : LookRequest {
  PerturbedRequest() { split = "test"; }
  int64_t examples = 1000;  // the first of the split; 0 = all
};

// What a row or column of such scores is.
inline constexpr char kPerturbedDefinition[] =
    "the model on inputs whose parts change places at random, the same for every row's examples, "
    "the first of the split";

// A run's scores under each perturbation of datasets/perturbation.h, on the same examples.
struct PerturbedScores {
  int64_t step = 0;
  std::vector<std::string> names;  // "as they are" first
  const Metric* metric = nullptr;
  std::vector<ExampleSums> sums;  // by name
  int64_t examples = 0;
  int64_t block_examples = 1;  // neighbours that count as one: BlockExamplesOf() the task
};

// If the split is test, the look is logged in the run's record. InvalidArgument for inputs that no
// perturbation suits; the errors of OpenCheckpoint; Cancelled after SIGINT or SIGTERM.
absl::StatusOr<PerturbedScores> ScorePerturbed(const PerturbedRequest& request);

// The same as a table of one run.
ProfileTable PerturbedTable(const PerturbedScores& scores);

}  // namespace lra

#endif  // LRA_INSPECT_PERTURBED_H_
