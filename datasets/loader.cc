#include "datasets/loader.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "datasets/id_content.h"
#include "lra/check.h"
#include "lra/random.h"

namespace lra {
namespace {

using Batches = std::vector<std::vector<int64_t>>;

// Which permutation of an epoch a stream draws; it is the last word of the stream's id.
enum OrderPurpose : uint32_t { kExamples = 0, kBatches = 1 };

RandomStream EpochStream(const LoaderOptions& options, int64_t epoch, OrderPurpose purpose) {
  return RandomStream(options.seed, options.order,
                      {static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32), purpose});
}

void Cut(absl::Span<const int64_t> examples, int64_t batch_examples, Batches* batches) {
  for (size_t i = 0; i < examples.size(); i += batch_examples) {
    const absl::Span<const int64_t> part = examples.subspan(i, batch_examples);
    batches->emplace_back(part.begin(), part.end());
  }
}

// The number of examples that fill whole batches; if they fill none, all of them.
int64_t InWholeBatches(int64_t examples, int64_t batch_examples) {
  return examples < batch_examples ? examples : examples - examples % batch_examples;
}

int64_t EpochExamples(const SplitView& split, const LoaderOptions& options) {
  return options.drop_last ? InWholeBatches(split.size(), options.batch_examples) : split.size();
}

int64_t EpochBatches(const SplitView& split, const LoaderOptions& options) {
  return (EpochExamples(split, options) + options.batch_examples - 1) / options.batch_examples;
}

Batches CutStoredOrder(const SplitView& split, const LoaderOptions& options) {
  std::vector<int64_t> order(EpochExamples(split, options));
  std::iota(order.begin(), order.end(), int64_t{0});
  Batches batches;
  Cut(order, options.batch_examples, &batches);
  return batches;
}

Batches CutPermutation(const SplitView& split, const LoaderOptions& options, int64_t epoch) {
  std::vector<int64_t> order = Permutation(split.size(), EpochStream(options, epoch, kExamples));
  // The cut comes before sorting; after it, the longest examples would be the ones left out.
  order.resize(EpochExamples(split, options));
  Batches batches;
  const auto window = static_cast<size_t>(options.batch_examples * options.bucket_window_batches);
  for (size_t begin = 0; begin < order.size(); begin += window) {
    const absl::Span<int64_t> part = absl::MakeSpan(order).subspan(begin, window);
    std::stable_sort(part.begin(), part.end(), [&](int64_t a, int64_t b) {
      return split.longest_tokens(a) < split.longest_tokens(b);
    });
    Cut(part, options.batch_examples, &batches);
  }
  return batches;
}

// Gathers one column and returns its length N.
int64_t FillTokens(const SplitView& split, const std::vector<int64_t>& examples, int column,
                   std::vector<int32_t>* lengths, std::vector<int32_t>* tokens) {
  int64_t length = split.fixed_length_tokens();
  for (int64_t example : examples) {
    lengths->push_back(split.length_tokens(example, column));
    length = std::max<int64_t>(length, lengths->back());
  }
  if (tokens == nullptr) return length;
  tokens->assign(examples.size() * length, 0);
  std::vector<int32_t> row;
  for (size_t b = 0; b < examples.size(); ++b) {
    split.Read(examples[b], &row, column);
    std::copy(row.begin(), row.end(), tokens->begin() + static_cast<int64_t>(b) * length);
  }
  return length;
}

// Hides each token behind the prompt with the view's probability, at least one where there is any.
void HideTokens(const SplitView& split, const HiddenDraw& draw, HostBatch* batch) {
  static const RandomDomain domain("masked_tokens");
  const int32_t mask_id = MaskId(split.spec());
  batch->hidden.assign(batch->tokens.size(), 0);
  for (int64_t b = 0; b < batch->batch; ++b) {
    const int64_t example = batch->example_ids[b], row = b * batch->length;
    RandomStream stream(draw.seed, domain,
                        {static_cast<uint32_t>(example), static_cast<uint32_t>(draw.epoch + 1), 0});
    const int64_t first = split.prompt_tokens(example), end = batch->lengths[b];
    int64_t hidden = 0;
    for (int64_t n = first; n < end; ++n)
      hidden += batch->hidden[row + n] = stream.Uniform() < split.masked_fraction();
    if (hidden == 0 && first < end)
      batch->hidden[row + first + stream.Below(static_cast<uint32_t>(end - first))] = 1;
    for (int64_t n = first; n < end; ++n) {
      if (batch->hidden[row + n] == 0) continue;
      batch->labels.push_back(batch->tokens[row + n]);
      batch->tokens[row + n] = mask_id;
    }
  }
}

// The tokens behind each prompt.
void FillTargets(const SplitView& split, HostBatch* batch) {
  for (int64_t b = 0; b < batch->batch; ++b) {
    batch->prompts.push_back(split.prompt_tokens(batch->example_ids[b]));
    const auto row = batch->tokens.begin() + b * batch->length;
    const int64_t end = batch->lengths[b];
    batch->labels.insert(batch->labels.end(), row + end - TargetsOf(*batch, b), row + end);
  }
}

void FillValues(const SplitView& split, HostBatch* batch) {
  batch->values.assign(batch->batch * batch->length, 0);
  std::vector<float> row;
  for (int64_t b = 0; b < batch->batch; ++b) {
    split.ReadReal(batch->example_ids[b], &row);
    std::copy(row.begin(), row.end(), batch->values.begin() + b * batch->length);
  }
}

}  // namespace

LoaderOptions MakeLoaderOptions(const TrainConfig& train, uint32_t seed, RandomDomain order) {
  return {.seed = seed,
          .order = order,
          .batch_examples = train.batch_examples(),
          .bucket_window_batches = train.bucket_window_batches(),
          .shuffle = train.shuffle(),
          .drop_last = train.drop_last()};
}

HostBatch MakeBatch(const SplitView& split, const std::vector<int64_t>& examples,
                    const HiddenDraw& draw) {
  HostBatch batch;
  batch.batch = static_cast<int64_t>(examples.size());
  batch.example_ids = examples;
  batch.fixed_length = split.fixed_length_tokens();
  const bool real = split.spec().is_real();
  batch.length = FillTokens(split, examples, 0, &batch.lengths, real ? nullptr : &batch.tokens);
  if (real) FillValues(split, &batch);
  if (split.spec().hides_tokens()) {
    HideTokens(split, draw, &batch);
  } else if (split.spec().guesses_tokens()) {
    FillTargets(split, &batch);
  } else {
    for (int64_t example : examples) batch.labels.push_back(split.label(example));
  }
  if (split.spec().is_pair()) {
    batch.length_b = FillTokens(split, examples, 1, &batch.lengths_b, &batch.tokens_b);
  }
  return batch;
}

Batches PlanEpoch(const SplitView& split, const LoaderOptions& options, int64_t epoch) {
  LRA_CHECK(options.batch_examples > 0 && options.bucket_window_batches > 0);
  Batches batches = options.shuffle == TrainConfig::WHOLE_BATCHES
                        ? CutStoredOrder(split, options)
                        : CutPermutation(split, options, epoch);
  Batches shuffled;
  shuffled.reserve(batches.size());
  for (int64_t i :
       Permutation(static_cast<int64_t>(batches.size()), EpochStream(options, epoch, kBatches))) {
    shuffled.push_back(std::move(batches[i]));
  }
  return shuffled;
}

int64_t CountExamples(const SplitView& split, const LoaderOptions& options, int64_t batches) {
  const int64_t each_epoch = EpochBatches(split, options), epochs = batches / each_epoch;
  int64_t examples = epochs * EpochExamples(split, options);
  const Batches last = PlanEpoch(split, options, epochs);
  for (int64_t i = 0; i < batches % each_epoch; ++i)
    examples += static_cast<int64_t>(last[i].size());
  return examples;
}

int64_t EvaluatedExamples(int64_t split_examples, int64_t batch_examples, int64_t limit,
                          bool drop_last) {
  LRA_CHECK(batch_examples > 0 && limit >= 0);
  const int64_t examples = limit == 0 ? split_examples : std::min(limit, split_examples);
  return drop_last ? InWholeBatches(examples, batch_examples) : examples;
}

Batches PlanEvaluation(const SplitView& split, int64_t batch_examples, int64_t examples) {
  LRA_CHECK(batch_examples > 0 && examples >= 0 && examples <= split.size());
  std::vector<int64_t> order(examples);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return split.longest_tokens(a) > split.longest_tokens(b);
  });
  Batches batches;
  Cut(order, batch_examples, &batches);
  return batches;
}

// One thread makes batches in order and waits while the queue is full.
struct TrainLoader::State {
  State(const SplitView& view, const LoaderOptions& loader_options, Position start)
      : split(view), options(loader_options), consumed(start), planned(start) {
    LRA_CHECK(split.size() > 0 && options.batch_examples > 0);
    LRA_CHECK(start.epoch >= 0 && start.batch >= 0);
    batches_per_epoch = std::max<int64_t>(EpochBatches(split, options), 1);
    Normalise(&consumed);
    planned = consumed;
  }

  void Normalise(Position* position) const {
    position->epoch += position->batch / batches_per_epoch;
    position->batch %= batches_per_epoch;
  }

  HostBatch Make() {
    if (plan.empty() || planned_epoch != planned.epoch) {
      plan = PlanEpoch(split, options, planned.epoch);
      planned_epoch = planned.epoch;
    }
    HostBatch batch =
        MakeBatch(split, plan[planned.batch], {.seed = options.seed, .epoch = planned.epoch});
    ++planned.batch;
    Normalise(&planned);
    return batch;
  }

  void Run() {
    while (true) {
      HostBatch batch = Make();
      absl::MutexLock lock(&mutex);
      const auto room = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex) {
        return stop || static_cast<int64_t>(ready.size()) < options.prefetch_batches;
      };
      mutex.Await(absl::Condition(&room));
      if (stop) return;
      ready.push_back(std::move(batch));
    }
  }

  const SplitView& split;
  const LoaderOptions options;
  int64_t batches_per_epoch = 1;
  Position consumed;  // where the consumer is
  Position planned;   // where the thread is
  int64_t planned_epoch = -1;
  Batches plan;
  absl::Mutex mutex;
  std::deque<HostBatch> ready ABSL_GUARDED_BY(mutex);
  bool stop ABSL_GUARDED_BY(mutex) = false;
  std::thread thread;
};

TrainLoader::TrainLoader(const SplitView& split, const LoaderOptions& options, Position start)
    : state_(std::make_unique<State>(split, options, start)) {
  if (options.prefetch_batches > 0)
    state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

TrainLoader::~TrainLoader() {
  if (!state_->thread.joinable()) return;
  {
    absl::MutexLock lock(&state_->mutex);
    state_->stop = true;
  }
  state_->thread.join();
}

HostBatch TrainLoader::Next() {
  ++state_->consumed.batch;
  state_->Normalise(&state_->consumed);
  if (!state_->thread.joinable()) return state_->Make();
  absl::MutexLock lock(&state_->mutex);
  const auto filled = [this]() ABSL_SHARED_LOCKS_REQUIRED(state_->mutex) {
    return !state_->ready.empty();
  };
  state_->mutex.Await(absl::Condition(&filled));
  HostBatch batch = std::move(state_->ready.front());
  state_->ready.pop_front();
  return batch;
}

TrainLoader::Position TrainLoader::position() const { return state_->consumed; }

}  // namespace lra
