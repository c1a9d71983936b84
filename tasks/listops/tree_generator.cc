#include "tasks/listops/tree_generator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

constexpr int kTooLong = -1;
using DigitCounts = std::array<int, 10>;

// The digit at place `rank` (from 0) of the sorted arguments.
int AtRank(const DigitCounts& counts, int rank) {
  int digit = 0;
  while (rank >= counts[digit]) rank -= counts[digit++];
  return digit;
}

int Apply(uint16_t op, const DigitCounts& counts, int arguments) {
  switch (op) {
    case kMin:
      return AtRank(counts, 0);
    case kMax:
      return AtRank(counts, arguments - 1);
    case kMed:
      return (AtRank(counts, (arguments - 1) / 2) + AtRank(counts, arguments / 2)) / 2;
    default: {
      int sum = 0;
      for (int digit = 0; digit < 10; ++digit) sum += digit * counts[digit];
      return sum % 10;
    }
  }
}

}  // namespace

struct TreeGenerator::State {
  RandomStream* random;
  std::vector<uint16_t>* tokens;
  // The least length that the tree can still have: the tokens written, the brackets that are open,
  // and one token for each node that is still to come. At the end it is the length.
  int64_t least_length = 1;
};

TreeGenerator::TreeGenerator(const ListOpsOptions& options)
    : max_depth_(options.max_depth()),
      max_arguments_(static_cast<uint32_t>(options.max_arguments())),
      operator_threshold_(
          static_cast<uint32_t>(std::floor(std::ldexp(options.operator_probability(), 32)))),
      min_length_(options.min_length_tokens()),
      max_length_(options.max_length_tokens()) {}

int64_t TreeGenerator::LongestTree() const {
  int64_t length = 1;
  for (int depth = max_depth_ - 1; depth >= 1; --depth) {
    length = std::min(2 + max_arguments_ * length, int64_t{1} << 40);
  }
  return length;
}

// Returns the node's value, or kTooLong as soon as the tree must be refused. Stopping early changes
// nothing about the trees that are kept.
int TreeGenerator::Node(int depth, State* state) const {
  if (depth < max_depth_ && state->random->Next32() < operator_threshold_) {
    return Operator(depth, state);
  }
  const int digit = static_cast<int>(state->random->Below(10));
  state->tokens->push_back(static_cast<uint16_t>(kZero + digit));
  return digit;
}

int TreeGenerator::Operator(int depth, State* state) const {
  const int arguments = 2 + static_cast<int>(state->random->Below(max_arguments_ - 1));
  const uint16_t op = static_cast<uint16_t>(kMin + state->random->Below(4));
  state->least_length +=
      1 + arguments;  // The operator, its bracket and its arguments take the place of one token.
  if (state->least_length >= max_length_) return kTooLong;
  state->tokens->push_back(op);
  DigitCounts counts{};
  for (int i = 0; i < arguments; ++i) {
    const int value = Node(depth + 1, state);
    if (value == kTooLong) return kTooLong;
    ++counts[value];
  }
  state->tokens->push_back(kClose);
  return Apply(op, counts, arguments);
}

bool TreeGenerator::Draw(RandomStream* random, EncodedExample* tree) const {
  tree->tokens.clear();
  State state{random, &tree->tokens};
  tree->label = Node(1, &state);
  return tree->label != kTooLong && state.least_length > min_length_ &&
         state.least_length < max_length_;
}

}  // namespace lra::listops
