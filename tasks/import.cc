#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/dataset_builder.h"

namespace lra {
namespace {

// A batch is closed by the example that brings it to either.
constexpr size_t kBatchExamples = 256;
constexpr size_t kBatchBytes = size_t{1} << 20;

using RawBatch = std::vector<RawExample>;
using HashedBatch = std::vector<HashedExample>;

// Serves batches; an error waits until what came before it was served, so that the first bad line
// is reported.
absl::StatusOr<std::optional<RawBatch>> NextBatch(RawReader* reader, absl::Status* held_back) {
  LRA_RETURN_IF_ERROR(*held_back);
  RawBatch batch;
  size_t bytes = 0;
  while (batch.size() < kBatchExamples && bytes < kBatchBytes) {
    absl::StatusOr<std::optional<RawExample>> next = reader->Next();
    if (!next.ok()) {
      *held_back = next.status();
      if (batch.empty()) return next.status();
      return batch;
    }
    if (!next->has_value()) break;
    bytes += (*next)->bytes.size();
    batch.push_back(**std::move(next));
  }
  if (batch.empty()) return std::nullopt;
  return batch;
}

absl::StatusOr<HashedBatch> EncodeBatch(const Task& task, const TaskSpec& spec,
                                        const RawBatch& batch) {
  ExampleHasher hasher;
  HashedBatch encoded(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    absl::StatusOr<EncodedExample> example = task.Encode(batch[i]);
    absl::Status status = example.ok() ? CheckExample(spec, *example) : example.status();
    // Whatever the encoder calls it: the raw file is wrong, not its user.
    if (!status.ok()) {
      return absl::DataLossError(absl::StrCat(batch[i].where, ": ", status.message()));
    }
    encoded[i].split = batch[i].split;
    encoded[i].example = *std::move(example);
    encoded[i].digest = hasher.Hash(spec, encoded[i].example);
  }
  return encoded;
}

}  // namespace

absl::Status ImportInto(const Task& task, absl::string_view raw, int threads, Progress* progress,
                        DatasetBuilder* builder) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<RawSource> source, OpenRawSource(raw));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<RawReader> reader, task.OpenRaw(std::move(source)));
  const TaskSpec spec = task.Spec();
  absl::Status held_back;
  LRA_RETURN_IF_ERROR((OrderedPipeline<RawBatch, HashedBatch>(
      ResolveThreads(threads), [&] { return NextBatch(reader.get(), &held_back); },
      [&](const RawBatch& batch) { return EncodeBatch(task, spec, batch); },
      [&](const HashedBatch& batch) -> absl::Status {
        for (const HashedExample& item : batch) LRA_RETURN_IF_ERROR(builder->Add(item));
        progress->Update(builder->examples());
        return absl::OkStatus();
      })));
  builder->SetSources(reader->sources());
  return absl::OkStatus();
}

}  // namespace lra
