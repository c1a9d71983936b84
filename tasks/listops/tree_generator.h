// Random ListOps trees: the distribution of the original generator
// (google-research/long-range-arena, lra_benchmarks/data/listops.py), with draws of our own.
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
  // Every field of `options` is set and in range.
  explicit TreeGenerator(const ListOpsOptions& options);

  // Draws one tree. True if its length is within the limits: then *tree holds its tokens and its
  // value. (The larger part of all trees is refused: 92 % at the official sizes.)
  bool Draw(RandomStream* random, EncodedExample* tree) const;

  // Length of the longest possible tree, capped at 2^40.
  int64_t LongestTree() const;

 private:
  struct State;
  int Node(int depth, State* state) const;
  int Operator(int depth, State* state) const;

  const int max_depth_;
  const uint32_t max_arguments_;
  const uint32_t operator_threshold_;  // a node is an operator iff 32 random bits are below
  const int64_t min_length_, max_length_;
};

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_TREE_GENERATOR_H_
