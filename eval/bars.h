// Which bars a row of a table is above. A baseline sets a bar: a score above it shows that
// something is made use of that the baseline ignores (BaselineBar in eval/run_record.proto). What
// "above" means is handed in, so that this is independent of how rows are compared.
//
//   absl::StrJoin(BarsAbove(BarsOf(baselines, "test", metric), is_above), ", ");
//   // "order", or "root operator, depth 3"
#ifndef LRA_EVAL_BARS_H_
#define LRA_EVAL_BARS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"

namespace lra {

struct Bar {
  BaselineBar bar;
  std::string method;  // the baseline's row
  double value = 0;    // its score, in the metric's unit
  const RunRecord* baseline = nullptr;
};

// What a baseline's record says of its bar. A record from before bars had names gets its method's
// name, and is required, as all were then.
BaselineBar BarOf(const RunRecord& baseline);

// The bars that the records of kind BASELINE among `records` set on a split, the weakest first.
// Records without a result on the split set none. The records must outlive the bars.
std::vector<Bar> BarsOf(absl::Span<const RunRecord* const> records, absl::string_view split,
                        const Metric& metric);

// Whether a row is above a bar; nullopt where that cannot be told.
using AboveBar = std::function<std::optional<bool>(const Bar& bar)>;

// The names of the bars that a row is above, weakest first; of a ladder the highest only, and the
// majority class only where nothing else is beaten. `bars` are as BarsOf returns them.
std::vector<std::string> BarsAbove(absl::Span<const Bar> bars, const AboveBar& is_above);

}  // namespace lra

#endif  // LRA_EVAL_BARS_H_
