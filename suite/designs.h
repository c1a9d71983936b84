// The designed ablations of a suite: which cell of which grid each of its runs is.
#ifndef LRA_SUITE_DESIGNS_H_
#define LRA_SUITE_DESIGNS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "eval/ablation.h"
#include "eval/ablation_text.h"
#include "eval/run_record.h"
#include "eval/trained_runs.h"
#include "suite/suite.pb.h"

namespace lra {

struct AblateRequest {
  std::string folder;  // that `lra run` wrote
  // Folders beside it with records of baselines, which say which runs trained.
  std::vector<std::string> baselines;
  std::string split = "test";
  std::string metric{};  // empty: the task's
  double confidence = 0.95;
  // Adds what is known of runs that left no record but diverged (run_folder/); unset: nothing.
  std::function<absl::Status(FoundRuns*)> add_stopped{};
  // Names of tables in print (configs/published) whose effects stand beside ours.
  std::vector<std::string> published{};
};

// Whether a group of the suite has factors or pairs. Several attentions can be compared like a
// factor's levels, but a suite that has no more is a table.
bool IsDesigned(const SuiteFile& suite);

// Each group of the suite that has factors (several attentions are one) is a design of its own,
// analysed by itself, and so is each of its pairs; groups of explicit cells are none. Errors:
// NotFound for a folder without a suite; InvalidArgument for a suite without factors, for a
// confidence outside (0, 1) and for an unknown published table; FailedPrecondition where runs are
// missing (it names cells and seeds), where cells were not scored on the same examples, and where
// scores of examples are not on record.
absl::StatusOr<AblationReport> AblateSuite(const AblateRequest& request);
// The same from runs that were found already, with the request's split and metric: those of the
// folder are among them, and so are its baselines. The report has no notes.
absl::StatusOr<AblationReport> AblateSuite(const AblateRequest& request, const TrainedRuns& runs);

// The effects of several suites, for pages about all of them.
struct SuiteEffects {
  std::vector<AblationReport> reports;
  // "runs/x: no effects: ...", of suites with a design that were refused.
  std::vector<std::string> problems;
};
// AblateSuite() of each of these folders, from runs that were found at or above them. Suites
// without a design are passed over. The errors of FindTrainedRuns.
absl::StatusOr<SuiteEffects> AblateSuites(absl::Span<const std::string> folders,
                                          const FoundRuns& found, AblateRequest request);

}  // namespace lra

#endif  // LRA_SUITE_DESIGNS_H_
