// Prints the SHA-256 of each epoch of the batches that a run trains on;
// tests/python_data_test.py holds those that Python is handed against it.
// usage: batch_hashes TASK PROTOCOL PRESET DATA EPOCHS [FIELD=VALUE...]
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "datasets/split_view.h"
#include "lra/experiment.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

template <class T>
void Add(const std::vector<T>& values, Sha256* hash) {
  hash->Update(values.data(), values.size() * sizeof(T));
}

// Sizes, then the fields in the order of HostBatch; a mask of 0 and 1 in place of lengths.
void AddBatch(const HostBatch& batch, const DataView& view, Sha256* hash) {
  Add(std::vector<int64_t>{batch.batch, batch.length, batch.length_b}, hash);
  Add(batch.tokens, hash);
  Add(batch.tokens_b, hash);
  Add(batch.values, hash);
  Add(batch.labels, hash);
  Add(batch.prompts, hash);
  Add(batch.hidden, hash);
  Add(batch.example_ids, hash);
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t n = 0; n < batch.length; ++n) {
      const bool is_hidden = view.zero_is_padding() && batch.tokens[b * batch.length + n] == 0;
      const char keep = n < batch.lengths[b] && !is_hidden;
      hash->Update(&keep, 1);
    }
  }
}

absl::Status Print(const ExperimentChoice& choice, const std::string& directory, int epochs) {
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice));
  const ExperimentConfig& config = resolved.config;
  LRA_ASSIGN_OR_RETURN(const Dataset data,
                       Dataset::Open(directory, {.splits = {"train"}, .view = &config.view()}));
  LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, "train", config.view()));
  TrainLoader loader(split, MakeLoaderOptions(config.train(), config.seed()), {});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Sha256 hash;
    while (loader.position().epoch == epoch) AddBatch(loader.Next(), config.view(), &hash);
    std::cout << ToHex(hash.Finish()) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace lra

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "usage: batch_hashes TASK PROTOCOL PRESET DATA EPOCHS [FIELD=VALUE...]\n";
    return 2;
  }
  const absl::Status status = lra::Print({.task = argv[1],
                                          .attention = "transformer",
                                          .protocol = argv[2],
                                          .preset = argv[3],
                                          .sets = {argv + 6, argv + argc}},
                                         argv[4], std::atoi(argv[5]));
  if (!status.ok()) std::cerr << "batch_hashes: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
