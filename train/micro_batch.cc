#include "train/micro_batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lra {
namespace {

// Rows of a batch: `first`, first + step, ..., below `end`.
struct Choice {
  int64_t first, end, step;
};

int64_t Count(const Choice& choice) {
  return std::max<int64_t>(0, (choice.end - choice.first + choice.step - 1) / choice.step);
}

// The first `to` of the `from` columns of each row.
template <class T>
std::vector<T> Columns(const std::vector<T>& values, const Choice& choice, int64_t from,
                       int64_t to) {
  std::vector<T> result;
  if (values.empty()) return result;
  result.reserve(Count(choice) * to);
  for (int64_t row = choice.first; row < choice.end; row += choice.step) {
    const auto start = values.begin() + row * from;
    result.insert(result.end(), start, start + to);
  }
  return result;
}

template <class T>
std::vector<T> Rows(const std::vector<T>& values, const Choice& choice) {
  return Columns(values, choice, 1, 1);
}

// batch.labels of these rows.
std::vector<int32_t> Targets(const HostBatch& batch, const Choice& choice) {
  if (batch.prompts.empty() && batch.hidden.empty()) return Rows(batch.labels, choice);
  std::vector<int32_t> targets;
  auto from = batch.labels.begin();
  for (int64_t b = 0; b < batch.batch; ++b) {
    const auto to = from + TargetsOf(batch, b);
    const bool is_chosen =
        b >= choice.first && b < choice.end && (b - choice.first) % choice.step == 0;
    if (is_chosen) targets.insert(targets.end(), from, to);
    from = to;
  }
  return targets;
}

int64_t Longest(const std::vector<int32_t>& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

HostBatch PartOf(const HostBatch& batch, const Choice& choice, bool keeps_length) {
  keeps_length = keeps_length || batch.fixed_length > 0;
  HostBatch part;
  part.batch = Count(choice);
  part.fixed_length = batch.fixed_length;
  part.lengths = Rows(batch.lengths, choice);
  part.lengths_b = Rows(batch.lengths_b, choice);
  part.labels = Targets(batch, choice);
  part.prompts = Rows(batch.prompts, choice);
  part.example_ids = Rows(batch.example_ids, choice);
  part.length = keeps_length ? batch.length : Longest(part.lengths);
  part.length_b = keeps_length ? batch.length_b : Longest(part.lengths_b);
  part.tokens = Columns(batch.tokens, choice, batch.length, part.length);
  part.tokens_b = Columns(batch.tokens_b, choice, batch.length_b, part.length_b);
  part.hidden = Columns(batch.hidden, choice, batch.length, part.length);
  part.values = Columns(batch.values, choice, batch.length, part.length);
  return part;
}

// Appends zeros to the rows of `width` values.
template <class T>
void Widen(int64_t width, int64_t wider, std::vector<T>* values) {
  if (values->empty()) return;
  std::vector<T> result(values->size() / width * wider);
  for (size_t row = 0; row < values->size() / width; ++row)
    std::copy_n(values->begin() + row * width, width, result.begin() + row * wider);
  *values = std::move(result);
}

}  // namespace

HostBatch PadToMultiple(HostBatch batch, int64_t multiple, int64_t most) {
  if (batch.fixed_length > 0) return batch;
  const auto rounded = [&](int64_t length) {
    return std::max(length, std::min(most, (length + multiple - 1) / multiple * multiple));
  };
  const int64_t wider = rounded(batch.length), wider_b = rounded(batch.length_b);
  Widen(batch.length, wider, &batch.tokens);
  Widen(batch.length, wider, &batch.values);
  Widen(batch.length, wider, &batch.hidden);
  Widen(batch.length_b, wider_b, &batch.tokens_b);
  batch.length = wider;
  batch.length_b = wider_b;
  return batch;
}

int64_t CountTokens(const HostBatch& batch) {
  int64_t tokens = 0;
  for (const std::vector<int32_t>* lengths : {&batch.lengths, &batch.lengths_b})
    tokens += std::accumulate(lengths->begin(), lengths->end(), int64_t{0});
  return tokens;
}

HostBatch TrimPadding(HostBatch batch) {
  batch.fixed_length = 0;
  return PartOf(batch, {0, batch.batch, 1}, false);
}

HostBatch EveryNth(const HostBatch& batch, int64_t first, int64_t step, bool keeps_length) {
  return PartOf(batch, {first, batch.batch, step}, keeps_length);
}

std::vector<HostBatch> SplitBatch(const HostBatch& batch, int64_t examples, bool keeps_length) {
  if (examples <= 0 || examples >= batch.batch) return {batch};
  std::vector<HostBatch> parts;
  for (int64_t begin = 0; begin < batch.batch; begin += examples) {
    const int64_t end = std::min(begin + examples, batch.batch);
    parts.push_back(PartOf(batch, {begin, end, 1}, keeps_length));
  }
  return parts;
}

}  // namespace lra
