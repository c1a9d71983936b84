// Random ListOps trees with the distribution of the original generator
// (google-research/long-range-arena, lra_benchmarks/data/listops.py), drawn from our own random
// numbers.
#ifndef LRA_TASKS_LISTOPS_TREE_GENERATOR_H_
#define LRA_TASKS_LISTOPS_TREE_GENERATOR_H_

#include <cstdint>

#include "datasets/example.h"
#include "lra/random.h"
#include "tasks/listops/listops.pb.h"

namespace lra::listops {

// Thread-compatible.
class TreeGenerator {
 public:
  // Every field of `options` must be set and in range.
  explicit TreeGenerator(const ListOpsOptions& options);

  // Draws one tree. If its length is within the limits, returns true and sets *tree to its tokens
  // and value. (Most trees are refused, 92 % at the official sizes.)
  bool Draw(RandomStream* random, EncodedExample* tree) const;

  // Length of the longest possible tree, capped at 2^40.
  int64_t LongestTree() const;

 private:
  struct State;
  int Node(int depth, State* state) const;
  int Operator(int depth, State* state) const;

  const int max_depth_;
  const uint32_t max_arguments_;
  const uint32_t operator_threshold_;  // a node is an operator if 32 random bits are below this
  const int64_t min_length_, max_length_;
};

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_TREE_GENERATOR_H_
