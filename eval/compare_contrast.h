// `lra compare --contrast`: effects of a designed ablation, such as "cosformer - linear" or
// "0.5 A - 0.5 B + 0.5 C - 0.5 D", on runs of equal seeds (docs/statistics.md).
#ifndef LRA_EVAL_COMPARE_CONTRAST_H_
#define LRA_EVAL_COMPARE_CONTRAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/compare_methods.h"

namespace lra {

struct ContrastTerm {
  double weight = 0;
  std::string row;  // as CompareRequest::a
};

// Rows with signs, and weights where they are not 1: "A - B", "-A + 0.5 B + 0.5 C". Signs stand
// between spaces, because names hold some. InvalidArgument, with the text, for one that cannot be
// read, for a row that is named twice, and for weights that do not sum to 0.
absl::StatusOr<std::vector<ContrastTerm>> ParseContrast(absl::string_view text);

// A contrast in one column: computed for every seed and for the examples that all rows have, so
// that what rows share drops out.
struct TaskContrast : ComparedColumn {
  int64_t examples = 0;
  std::vector<uint32_t> seeds;          // that trained in every row
  std::vector<uint32_t> dropped_seeds;  // of some row; they did not train in every one
  RowDifference effect;
  double corrected_p = 1;  // Holm, over all contrasts and columns of the analysis
  bool is_told_apart = false;
};

struct RowContrast {
  std::string text;
  std::vector<TaskContrast> tasks;
  std::vector<UncomparedColumn> not_compared;
  // Over all tasks, with equal weights; set with more than one, all compared and of one table.
  std::optional<RowDifference> average;
  std::string why_no_average;  // of several columns
};

struct ContrastAnalysis {
  CompareRequest request;
  std::vector<RowContrast> contrasts;
  size_t tests() const;  // of contrasts in columns
};

// Analyses contrasts as one family: those that were planned together, such as a factor's main
// effects. `a`, `b`, `margin` and `is_paired` of the request do not count. Columns in which fewer
// than kLeastPairedSeeds seeds trained in every row, or whose scores of examples are not on record,
// are not compared: FailedPrecondition if there is no other. The errors of ParseContrast and, for
// the rows, of CompareMethods.
absl::StatusOr<ContrastAnalysis> AnalyseContrasts(const CompareRequest& request,
                                                  const std::vector<std::string>& contrasts);

// A line for each contrast and column, and one for each average.
std::string WriteContrasts(const ContrastAnalysis& analysis);
std::string WriteContrastsJson(const ContrastAnalysis& analysis);

}  // namespace lra

#endif  // LRA_EVAL_COMPARE_CONTRAST_H_
