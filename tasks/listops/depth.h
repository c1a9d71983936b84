// Evaluates a ListOps expression exactly down to a depth and guesses what lies below. The root has
// depth 1 and an operator among its arguments depth 2; digits have no depth.
#ifndef LRA_TASKS_LISTOPS_DEPTH_H_
#define LRA_TASKS_LISTOPS_DEPTH_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {

inline constexpr int kOperators = 4;
// For each operator, by id - kMin, the value that a node of it is guessed to have.
using NodeGuesses = std::array<int32_t, kOperators>;

// How often each value occurs among the nodes of each operator: [operator][value].
using NodeCounts = std::array<std::array<int64_t, kClasses>, kOperators>;
// Adds every operator of the expression, whatever its depth.
void CountNodes(absl::Span<const int32_t> ids, NodeCounts* counts);
// The commonest value of each operator, the smallest among equals; 0 where it does not occur.
NodeGuesses CommonestValues(const NodeCounts& counts);

// The value, 0 .. 9, if operators down to `depth` are evaluated and each below is guessed. Depth 0
// guesses the root as well; a depth of the whole tree gives its label.
//
// `ids` are as a view with closing brackets shows them, so the end may be cut off. Operators that
// are open at the end are evaluated on what is there, and are guessed where nothing is. Ids that
// are no token of ListOps (end mark) are skipped.
int32_t EvaluateToDepth(absl::Span<const int32_t> ids, int depth, const NodeGuesses& guesses);

// The evidence depth of an expression: the smallest k, 0 .. limit, for which EvaluateToDepth gives
// `label`; limit + 1 if none does. It says how much of a tree must be looked at to find the label
// by this rule. It is no lower bound on what a deeper look would need: the guesses may be right by
// luck, and evaluation to k + 1 may be wrong where k was right.
int EvidenceDepth(absl::Span<const int32_t> ids, int32_t label, int limit,
                  const NodeGuesses& guesses);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_DEPTH_H_
