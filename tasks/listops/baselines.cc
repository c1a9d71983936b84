#include "tasks/listops/baselines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/quarters.h"
#include "tasks/table_baseline.h"

namespace lra::listops {
namespace {

// The least probability that the answer of an evaluation is given. It must be above 1 / C, or the
// answer would not be the likeliest class.
constexpr double kLeastShare = 0.2;

constexpr int64_t kSliceExamples = 1024;

int64_t LearntExamples(const SplitView& train) {
  return std::min<int64_t>(train.size(), kMaxLearntExamples);
}

// Replaces *ids by those of an example.
using ReadExample = void (*)(const SplitView& split, int64_t example, std::vector<int32_t>* ids);

void ReadSeen(const SplitView& split, int64_t example, std::vector<int32_t>* ids) {
  split.Read(example, ids);
}

void ReadStored(const SplitView& split, int64_t example, std::vector<int32_t>* ids) {
  split.ReadStored(example, ids);
}

// The commonest value of each operator among all nodes of these examples.
absl::StatusOr<NodeGuesses> LearnGuesses(const SplitView& train, ReadExample read, int threads) {
  const int64_t examples = LearntExamples(train);
  const int64_t slices = (examples + kSliceExamples - 1) / kSliceExamples;
  std::vector<NodeCounts> counts(slices, NodeCounts{});
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), slices, [&](int64_t slice) {
    std::vector<int32_t> ids;
    const int64_t end = std::min(examples, (slice + 1) * kSliceExamples);
    for (int64_t i = slice * kSliceExamples; i < end; ++i) {
      read(train, i, &ids);
      CountNodes(ids, &counts[slice]);
    }
    return absl::OkStatus();
  }));
  NodeCounts total = {};
  for (const NodeCounts& slice : counts) {
    for (int op = 0; op < kOperators; ++op) {
      for (int v = 0; v < kClasses; ++v) total[op][v] += slice[op][v];
    }
  }
  return CommonestValues(total);
}

// The values of the first `examples`.
absl::StatusOr<std::vector<int32_t>> EvaluateFirst(const SplitView& split, int64_t examples,
                                                   int depth, const NodeGuesses& guesses,
                                                   int threads) {
  std::vector<int32_t> values(examples);
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), examples, [&](int64_t i) {
    thread_local std::vector<int32_t> ids;
    split.Read(i, &ids);
    values[i] = EvaluateToDepth(ids, depth, guesses);
    return absl::OkStatus();
  }));
  return values;
}

// How likely the answer `value` is right, by value, counted on training examples.
std::vector<double> SharesRight(const SplitView& train, const std::vector<int32_t>& values) {
  std::vector<double> right(kClasses, 1), seen(kClasses, 2);
  for (size_t i = 0; i < values.size(); ++i) {
    ++seen[values[i]];
    if (values[i] == train.label(static_cast<int64_t>(i))) ++right[values[i]];
  }
  for (int v = 0; v < kClasses; ++v) right[v] = std::max(right[v] / seen[v], kLeastShare);
  return right;
}

// Log-probabilities with the evaluated value as the likeliest class and the others alike.
std::vector<float> Answers(const std::vector<int32_t>& values, const std::vector<double>& right) {
  std::vector<float> logits(values.size() * kClasses);
  for (size_t i = 0; i < values.size(); ++i) {
    const double share = right[values[i]];
    const auto row = logits.begin() + static_cast<int64_t>(i) * kClasses;
    std::fill(row, row + kClasses, static_cast<float>(std::log((1 - share) / (kClasses - 1))));
    row[values[i]] = static_cast<float>(std::log(share));
  }
  return logits;
}

BaselineFacts DepthFacts(int depth) {
  return {.name = absl::StrCat("depth_", depth),
          .description = absl::StrCat(
              "Exact down to depth ", depth,
              "; each deeper node is guessed as its operator's commonest training value."),
          .bar = absl::StrCat("depth ", depth),
          .ignores = absl::StrCat("what stands deeper than depth ", depth),
          .is_required = false,
          .ladder = "depth"};
}

class DepthBaseline : public BaselineMethod {
 public:
  explicit DepthBaseline(int depth) : BaselineMethod(DepthFacts(depth)), depth_(depth) {}

  absl::StatusOr<BaselineLogits> Predict(const BaselineData& data,
                                         const BaselineOptions& options) const override {
    LRA_ASSIGN_OR_RETURN(const NodeGuesses guesses,
                         LearnGuesses(data.train, ReadSeen, options.threads));
    LRA_ASSIGN_OR_RETURN(
        const std::vector<int32_t> train,
        EvaluateFirst(data.train, LearntExamples(data.train), depth_, guesses, options.threads));
    const std::vector<double> right = SharesRight(data.train, train);
    BaselineLogits logits;
    for (const SplitView* split : data.scored) {
      LRA_ASSIGN_OR_RETURN(const std::vector<int32_t> values,
                           EvaluateFirst(*split, split->size(), depth_, guesses, options.threads));
      logits.push_back(Answers(values, right));
    }
    return logits;
  }

 private:
  const int depth_;
};

std::unique_ptr<BaselineMethod> MakeRootOperator() {
  // One group for each operator, and one for a digit.
  return MakeTableBaseline(
      {.name = "root_operator",
       .description = "Class frequencies of the training examples with the same root operator.",
       .bar = "root operator",
       .ignores = "everything behind the first token"},
      {.groups = kOperators + 1, .group_of = [](absl::Span<const int32_t> ids) {
         return IsOperator(static_cast<uint16_t>(ids[0])) ? ids[0] - kMin : kOperators;
       }});
}

}  // namespace

std::vector<std::unique_ptr<BaselineMethod>> ListOpsBaselines(const DataView& view) {
  std::vector<std::unique_ptr<BaselineMethod>> baselines;
  baselines.push_back(MakeRootOperator());
  if (view.brackets() == DataView::NONE) return baselines;
  for (int depth = 1; depth <= kMaxBaselineDepth; ++depth)
    baselines.push_back(std::make_unique<DepthBaseline>(depth));
  return baselines;
}

absl::StatusOr<std::vector<Strata>> ListOpsStrata(const SplitView& train, const SplitView& split,
                                                  int max_depth, int threads) {
  LRA_ASSIGN_OR_RETURN(const NodeGuesses guesses, LearnGuesses(train, ReadStored, threads));
  Strata strata;
  strata.name = "evidence depth";
  strata.definition =
      "the smallest k for which exact evaluation down to depth k, with each deeper node guessed as "
      "its operator's commonest training value, gives the label; depth 0 guesses the root";
  for (int depth = 0; depth <= max_depth; ++depth) strata.names.push_back(absl::StrCat(depth));
  strata.names.push_back("none");
  strata.of.resize(split.size());
  LRA_RETURN_IF_ERROR(ParallelFor(ResolveThreads(threads), split.size(), [&](int64_t i) {
    thread_local std::vector<int32_t> ids;
    split.ReadStored(i, &ids);
    strata.of[i] = EvidenceDepth(ids, split.label(i), max_depth, guesses);
    return absl::OkStatus();
  }));
  std::vector<Strata> all = LengthStrata(split);
  all.insert(all.begin(), std::move(strata));
  return all;
}

}  // namespace lra::listops
