// Scorers: a model's outputs and what they should have guessed -> named sums of each example.
#ifndef LRA_EVAL_SCORER_H_
#define LRA_EVAL_SCORER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "eval/sums.h"
#include "lra/registry.h"

namespace lra {

// T guesses at targets of E examples.
struct Guesses {
  absl::Span<const float> logits;     // [T, C], row-major
  absl::Span<const int32_t> targets;  // [T]: labels, or token ids
  int classes = 0;                    // C
  // [T], 0 .. E-1: the example of each target. Empty, with an example_count of 0: target t is that
  // of example t, and E = T.
  absl::Span<const int64_t> examples{};
  int64_t example_count = 0;  // E, where `examples` is given, though there may be no target
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  // The names of the sums that Score() gives.
  virtual std::vector<std::string> sums() const = 0;
  // Internal, with IsNotFinite(), for an output that is not finite, InvalidArgument for sizes that
  // do not fit and for targets that cannot be; both name the example.
  virtual absl::StatusOr<ExampleSums> Score(const Guesses& guesses) const = 0;
};

using ScorerRegistry = Registry<Scorer>;

// Whether an error says that an output was not finite: the model has diverged.
bool IsNotFinite(const absl::Status& status);

// Logits of C classes: targets, correct, nats. The guess is the largest logit, the lowest class
// among equals. Nats are taken in float64 by log-sum-exp.
inline constexpr char kCategorical[] = "categorical";

}  // namespace lra

#endif  // LRA_EVAL_SCORER_H_
