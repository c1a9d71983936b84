#include "tasks/listops/depth.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace lra::listops {
namespace {

// The arguments that were seen of an operator that is still open. Values are below 10, so counts of
// each are enough for every operator.
struct OpenNode {
  int op = 0;  // id - kMin
  int32_t arguments = 0;
  std::array<int32_t, kClasses> count = {};
};

// The value in place `rank` (from 0) of the sorted arguments.
int32_t Ranked(const OpenNode& node, int32_t rank) {
  int32_t value = 0;
  for (int32_t below = node.count[0]; below <= rank; below += node.count[value]) ++value;
  return value;
}

// Needs an argument.
int32_t Reduce(const OpenNode& node) {
  if (node.op == kMin - kMin) return Ranked(node, 0);
  if (node.op == kMax - kMin) return Ranked(node, node.arguments - 1);
  if (node.op == kMed - kMin) {
    return (Ranked(node, (node.arguments - 1) / 2) + Ranked(node, node.arguments / 2)) / 2;
  }
  int64_t sum = 0;
  for (int32_t value = 0; value < kClasses; ++value) sum += int64_t{value} * node.count[value];
  return static_cast<int32_t>(sum % 10);
}

// Calls on_node(op, value) for every operator that closes, in that order. Returns the root's value.
template <class OnNode>
int32_t Walk(absl::Span<const int32_t> ids, int depth, const NodeGuesses& guesses, OnNode on_node) {
  std::vector<OpenNode> open;
  int32_t root = 0;
  const auto give = [&](int32_t value) {
    root = value;
    if (open.empty()) return;
    ++open.back().arguments;
    ++open.back().count[value];
  };
  const auto close = [&] {
    const OpenNode node = open.back();
    const bool is_seen = static_cast<int64_t>(open.size()) <= depth && node.arguments > 0;
    open.pop_back();
    const int32_t value = is_seen ? Reduce(node) : guesses[node.op];
    on_node(node.op, value);
    give(value);
  };
  for (int32_t id : ids) {
    if (id >= kZero && id <= kNine) {
      give(id - kZero);
    } else if (id >= kMin && id <= kSm) {
      open.push_back({.op = id - kMin});
    } else if (id == kClose && !open.empty()) {
      close();
    }
  }
  while (!open.empty()) close();
  return root;
}

}  // namespace

void CountNodes(absl::Span<const int32_t> ids, NodeCounts* counts) {
  Walk(ids, std::numeric_limits<int>::max(), {},
       [counts](int op, int32_t value) { ++(*counts)[op][value]; });
}

NodeGuesses CommonestValues(const NodeCounts& counts) {
  NodeGuesses guesses = {};
  for (int op = 0; op < kOperators; ++op) {
    const auto commonest = std::max_element(counts[op].begin(), counts[op].end());
    guesses[op] = static_cast<int32_t>(commonest - counts[op].begin());
  }
  return guesses;
}

int32_t EvaluateToDepth(absl::Span<const int32_t> ids, int depth, const NodeGuesses& guesses) {
  return Walk(ids, depth, guesses, [](int, int32_t) {});
}

int EvidenceDepth(absl::Span<const int32_t> ids, int32_t label, int limit,
                  const NodeGuesses& guesses) {
  int depth = 0;
  while (depth <= limit && EvaluateToDepth(ids, depth, guesses) != label) ++depth;
  return depth;
}

}  // namespace lra::listops
