// Runs one training step of a small model for each attention, so that callgrind can count its
// instructions: tests/instructions/run.py starts it and compares the counts with committed ones.
// A step before warms up what is made once. Without callgrind it only runs the steps.
//
//   step_instructions [ATTENTION...]     default: every attention that there is
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/classifier.h"

namespace lra {
namespace {

constexpr int64_t kTokens = 256, kBatch = 2;
constexpr int kClasses = 10, kVocabulary = 16;

absl::StatusOr<std::unique_ptr<Classifier>> MakeModel(const std::string& attention) {
  ConfigBuilder builder("listops");
  LRA_RETURN_IF_ERROR(builder.AddProtocol("fair"));
  LRA_RETURN_IF_ERROR(builder.AddPreset("smoke"));
  LRA_RETURN_IF_ERROR(builder.AddAttention(attention));
  LRA_RETURN_IF_ERROR(builder.Set(absl::StrCat("view.max_length_tokens=", kTokens)));
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, builder.Build());
  TaskSpec spec;
  spec.set_vocabulary_size(kVocabulary);
  spec.set_classes(kClasses);
  return Classifier::Create(resolved.config, spec);
}

// One example fills the batch's length, the other half of it.
HostBatch MakeBatch() {
  HostBatch batch;
  batch.batch = kBatch;
  batch.length = kTokens;
  batch.tokens.assign(kBatch * kTokens, 0);
  for (int64_t b = 0; b < kBatch; ++b) {
    const int64_t length = kTokens / (b + 1);
    RandomStream stream(1, RandomDomain::kTest, {static_cast<uint32_t>(b), 0, 0});
    for (int64_t t = 0; t < length; ++t) {
      batch.tokens[static_cast<size_t>(b * kTokens + t)] =
          static_cast<int32_t>(1 + stream.Below(kVocabulary - 1));
    }
    batch.lengths.push_back(static_cast<int32_t>(length));
    batch.labels.push_back(static_cast<int32_t>(stream.Below(kClasses)));
    batch.example_ids.push_back(b);
  }
  return batch;
}

void Step(const Classifier& model, const HostBatch& batch, uint32_t step) {
  for (const Parameter& parameter : model.parameters().parameters()) {
    at::Tensor value = parameter.value;
    value.mutable_grad() = at::Tensor();
  }
  const at::Tensor labels = at::tensor(batch.labels, at::kInt).to(at::kLong);
  at::cross_entropy_loss(model.Forward(batch, {true, step}), labels).backward();
}

absl::Status Count(const std::string& attention) {
  LRA_ASSIGN_OR_RETURN(const auto model, MakeModel(attention));
  const HostBatch batch = MakeBatch();
  Step(*model, batch, 0);
  CALLGRIND_ZERO_STATS;
  Step(*model, batch, 1);
  CALLGRIND_DUMP_STATS_AT(attention.c_str());
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& attentions) {
  if (const absl::Status status = StartRuntime(1, ""); !status.ok()) {
    std::fprintf(stderr, "step_instructions: %s\n", status.ToString().c_str());
    return 1;
  }
  for (const std::string& attention : attentions) {
    if (const absl::Status status = Count(attention); !status.ok()) {
      std::fprintf(stderr, "step_instructions: %s: %s\n", attention.c_str(),
                   status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace lra

int main(int argc, char** argv) {
  const std::vector<std::string> named(argv + 1, argv + argc);
  return lra::Main(named.empty() ? lra::ConfigNames("attentions") : named);
}
