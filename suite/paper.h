// The tables and figures of papers (configs/papers/): what makes them here, and how far that is.
#ifndef LRA_SUITE_PAPER_H_
#define LRA_SUITE_PAPER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "suite/paper.pb.h"

namespace lra {

// Loads configs/papers/<name>.textproto. InvalidArgument (with the known names) for an unknown one,
// and for a file with an item twice, one without a name or that says neither how it is made nor why
// not, and one that names a suite, grid or published table that does not exist.
absl::StatusOr<PaperFile> LoadPaper(absl::string_view name);

// "efficiency/cosformer_table5_small.jsonl": where a grid's cells are kept, below the folder of
// records.
std::string GridRecords(absl::string_view grid);

// What to type for it, the small twin of a suite or a grid first.
std::vector<std::string> CommandsOf(const PaperItem& item);

// Where results are kept.
struct KeptResult {
  std::string path;  // below the folder of records
  int finished = 0;
  int runs = 0;   // 0 = no suite's
  int other = 0;  // runs under other rules: those of an earlier version of a protocol or suite
  int measured = 0, cells = 0;  // of a grid
};

struct ItemStatus {
  // Each suite and grid with how far it is, also one without a result: "table6_small: 12 of 40
  // runs; table6: 0 of 40 runs", "table6_small: 40 runs under other rules", "table5: 60 of 96
  // cells". Where none has a result "not run"; "not kept" (a command whose output is not kept),
  // "not to be run here".
  std::string text;
  std::vector<KeptResult> kept;  // that are there
};

// Counts the runs of the item's suite, of its small twin and of further suites whose records are in
// RECORDS/SUITE/NAME, or in the folder of another suite, and have the suite's settings, and looks
// for the cells of its grid and of that one's twin. Errors: those of the files of both.
absl::StatusOr<ItemStatus> StatusOf(const PaperItem& item, const std::string& records);

}  // namespace lra

#endif  // LRA_SUITE_PAPER_H_
