#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/dataset_builder.h"
#include "tasks/spool.h"

namespace lra {
namespace {

// The example that reaches either limit ends its batch.
constexpr size_t kImportedAtOnce = 256;
constexpr size_t kBatchBytes = size_t{1} << 20;

using RawBatch = std::vector<RawExample>;
using HashedBatch = std::vector<HashedExample>;

// A lower bound of an example's size once it is encoded: a picture may be much larger than its
// file.
size_t MinEncodedBytes(const TaskSpec& spec) {
  return IsImage(spec) ? sizeof(uint16_t) * static_cast<size_t>(spec.max_length_tokens()) : 0;
}

// Serves batches and does not ask the reader again after its end. An error waits until everything
// before it was served, so that the first bad line is the one reported.
absl::StatusOr<std::optional<RawBatch>> NextBatch(RawReader* reader, size_t min_example_bytes,
                                                  absl::Status* held_back, bool* at_end) {
  LRA_RETURN_IF_ERROR(*held_back);
  if (*at_end) return std::nullopt;
  RawBatch batch;
  size_t bytes = 0;
  while (batch.size() < kImportedAtOnce && bytes < kBatchBytes) {
    absl::StatusOr<std::optional<RawExample>> next = reader->Next();
    if (!next.ok()) {
      *held_back = next.status();
      if (batch.empty()) return next.status();
      return batch;
    }
    if (!next->has_value()) {
      *at_end = true;
      break;
    }
    bytes += std::max((*next)->bytes.size(), min_example_bytes);
    batch.push_back(**std::move(next));
  }
  if (batch.empty()) return std::nullopt;
  return batch;
}

absl::StatusOr<HashedBatch> EncodeBatch(const Task& task, const TaskSpec& spec,
                                        const RawBatch& batch) {
  ExampleHasher hasher;  // imported examples have no extra columns
  HashedBatch encoded(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    absl::StatusOr<EncodedExample> example = task.Encode(batch[i]);
    absl::Status status = example.ok() ? CheckExample(spec, *example) : example.status();
    // Whatever code the encoder returned, the raw file is at fault and not the user.
    if (!status.ok()) {
      return absl::DataLossError(absl::StrCat(batch[i].where, ": ", status.message()));
    }
    encoded[i].split = batch[i].split;
    encoded[i].key = batch[i].key;
    encoded[i].example = *std::move(example);
    encoded[i].digest = hasher.Hash(spec, encoded[i].example);
  }
  return encoded;
}

// Adds the spooled examples in the order that the reader gives.
absl::Status AddInOrder(const TaskSpec& spec, const Spool& spool, RawReader* reader, int threads,
                        DatasetBuilder* builder) {
  LRA_ASSIGN_OR_RETURN(const std::vector<OrderedExample> order, reader->Order());
  size_t next = 0;
  return OrderedPipeline<OrderedExample, HashedExample>(
      ResolveThreads(threads),
      [&]() -> absl::StatusOr<std::optional<OrderedExample>> {
        if (next == order.size()) return std::nullopt;
        return order[next++];
      },
      [&](const OrderedExample& place) -> absl::StatusOr<HashedExample> {
        HashedExample item;
        item.split = place.split;
        LRA_ASSIGN_OR_RETURN(item.example, spool.Read(place.key));
        item.example.label = place.label.value_or(item.example.label);
        LRA_RETURN_IF_ERROR(CheckExample(spec, item.example));
        ExampleHasher hasher;
        item.digest = hasher.Hash(spec, item.example);
        return item;
      },
      [&](const HashedExample& item) { return builder->Add(item); });
}

}  // namespace

absl::Status ImportInto(const Task& task, absl::string_view raw, absl::string_view directory,
                        int threads, Progress* progress, DatasetBuilder* builder) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<RawSource> opened, OpenRawSource(raw));
  const RawSource& source = *opened;  // kept alive by the reader
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<RawReader> reader, task.OpenRaw(std::move(opened)));
  return ImportFrom(
      task, reader.get(), [&source] { return source.fraction_read(); }, directory, threads,
      progress, builder);
}

absl::Status ImportFrom(const Task& task, RawReader* reader,
                        const std::function<double()>& fraction_read, absl::string_view directory,
                        int threads, Progress* progress, DatasetBuilder* builder) {
  const TaskSpec spec = task.Spec();
  LRA_ASSIGN_OR_RETURN(Spool spool, Spool::Create(directory, spec));
  absl::Status held_back;
  bool at_end = false;
  int64_t read = 0;
  LRA_RETURN_IF_ERROR((OrderedPipeline<RawBatch, HashedBatch>(
      ResolveThreads(threads),
      [&] { return NextBatch(reader, MinEncodedBytes(spec), &held_back, &at_end); },
      [&](const RawBatch& batch) { return EncodeBatch(task, spec, batch); },
      [&](const HashedBatch& batch) -> absl::Status {
        for (const HashedExample& item : batch) {
          LRA_RETURN_IF_ERROR(reader->is_ordered() ? builder->Add(item)
                                                   : spool.Add(item.key, item.example));
        }
        read += static_cast<int64_t>(batch.size());
        if (const double fraction = fraction_read ? fraction_read() : 0; fraction > 0) {
          progress->EstimateTotal(static_cast<int64_t>(static_cast<double>(read) / fraction));
        }
        progress->Update(read);
        return absl::OkStatus();
      })));
  if (!reader->is_ordered()) {
    LRA_RETURN_IF_ERROR(AddInOrder(spec, spool, reader, threads, builder));
  }
  builder->SetSources(reader->sources());
  builder->SetSkipped(reader->skipped());
  return absl::OkStatus();
}

}  // namespace lra
