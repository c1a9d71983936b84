// Trivial baselines as plug-ins of their tasks: a task names its own in Task::Baselines, and no
// list stands anywhere else. A baseline is a bar: a score above it shows that something is made use
// of that the baseline ignores.
#ifndef LRA_TASKS_BASELINE_METHOD_H_
#define LRA_TASKS_BASELINE_METHOD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/split_view.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct BaselineFacts {
  std::string name;         // the row of a table: "bag_of_units"
  std::string description;  // a sentence for the table's notes
  // A short name of what is ignored, for marks: a cell above the baseline is "above order".
  std::string bar;
  std::string ignores;  // the same in full: "the order of the units"
  // Whether a score must be above this baseline to count as learned.
  bool is_required = true;
  // Whether it takes seconds at the task's own sizes. The others run when all are asked for.
  bool is_quick = true;
  // Bars of one ladder imply each other, the higher score the lower: "depth" of depth_1, depth_2,
  // ... Only the highest that is beaten is worth naming. Empty: the bar stands alone.
  std::string ladder{};
};

struct BaselineOptions {
  int threads = 0;
  bool quiet = false;
  // Also those that are not quick.
  bool all = false;
};

// What a baseline learns from, and what it answers.
struct BaselineData {
  const SplitView& train;
  const SplitView& validation;  // for choices (number of passes), unless it is the test split
  const std::vector<const SplitView*>& scored;
};

// Log-probabilities of each scored split, [examples, C], in the order of the split.
using BaselineLogits = std::vector<std::vector<float>>;

// Where tokens are guessed: sums over each example's tokens, in the order of the split.
struct TokenScores {
  std::vector<int64_t> targets, correct;
  std::vector<double> nats;  // -log p(token)
};

// A property of an example by which a table of frequencies answers.
struct Grouping {
  int groups = 0;
  std::function<int(absl::Span<const int32_t> ids)> group_of;  // 0 .. groups - 1
};

// Const functions are safe for concurrent use, and results do not depend on the number of threads.
class BaselineMethod {
 public:
  explicit BaselineMethod(BaselineFacts facts) : facts_(std::move(facts)) {}
  virtual ~BaselineMethod() = default;
  const BaselineFacts& facts() const { return facts_; }

  virtual absl::StatusOr<BaselineLogits> Predict(const BaselineData& data,
                                                 const BaselineOptions& options) const = 0;
  // The scores of each scored split whose view has tokens guessed (view.target=NEXT).
  virtual absl::StatusOr<std::vector<TokenScores>> ScoreTokens(
      const BaselineData& data, const BaselineOptions& options) const {
    return absl::UnimplementedError(facts_.name + " guesses labels, not tokens");
  }
  // Why it cannot be had of data that is seen like this; empty where it can.
  virtual std::string WhyNot(const TaskSpec& seen) const { return ""; }
  // The property, of a baseline that is a table of frequencies; nullptr for others.
  virtual const Grouping* grouping() const { return nullptr; }

 private:
  const BaselineFacts facts_;
};

}  // namespace lra

#endif  // LRA_TASKS_BASELINE_METHOD_H_
