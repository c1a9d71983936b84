// Uses both registries and runs a model and a single attention, so that the test fails if a
// registration or a library is missing.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include <iostream>
#include <utility>

#include "lra/config.h"
#include "models/classifier.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "tasks/task.h"

namespace {

absl::StatusOr<double> LogitSum() {
  lra::ConfigBuilder builder("listops");
  for (const absl::Status& status :
       {builder.AddProtocol("fair"), builder.AddPreset("smoke"), builder.AddAttention("linear")}) {
    if (!status.ok()) return status;
  }
  auto resolved = builder.Build();
  if (!resolved.ok()) return resolved.status();
  lra::TaskSpec spec;
  spec.set_vocabulary_size(16);
  spec.set_max_length_tokens(100);
  spec.set_classes(10);
  auto model = lra::Classifier::Create(resolved->config, spec);
  if (!model.ok()) return model.status();
  const lra::HostBatch batch = {.batch = 1,
                                .length = 3,
                                .tokens = {1, 2, 3},
                                .lengths = {3},
                                .labels = {0},
                                .example_ids = {0}};
  return (*model)->Forward(batch, {}).sum().item<double>();
}

// An attention by itself: its options are those of its config file, one of them changed.
absl::StatusOr<double> AttentionSum() {
  lra::ParameterStore parameters(1);
  lra::AttentionContext context;
  context.heads = 2;
  context.head_width = 4;
  context.parameters = &parameters;
  auto options = lra::LoadAttentionOptions("performer", {"features=8"});
  if (!options.ok()) return options.status();
  context.options = *std::move(options);
  const auto attention = lra::AttentionRegistry::Get().Create("attention", "performer", context);
  if (!attention.ok()) return attention.status();
  lra::AttentionInput input;
  input.q = input.k = input.v = at::ones({1, 2, 3, 4});
  return (*attention)->Attend(input).sum().item<double>();
}

}  // namespace

int main() {
  if (!lra::AttentionRegistry::Get().Has("cosformer") || !lra::TaskRegistry::Get().Has("listops")) {
    std::cerr << "a registration was lost\n";
    return 1;
  }
  for (const absl::StatusOr<double>& sum : {LogitSum(), AttentionSum()}) {
    if (!sum.ok()) {
      std::cerr << sum.status() << "\n";
      return 1;
    }
    std::cout << "sum " << *sum << "\n";
  }
  return 0;
}
