// Uses both registries and runs a forward pass, so that a lost registration or a missing library
// shows.
#include <iostream>

#include "lra/config.h"
#include "models/attention/attention.h"
#include "models/classifier.h"
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

}  // namespace

int main() {
  if (!lra::AttentionRegistry::Get().Has("cosformer") || !lra::TaskRegistry::Get().Has("listops")) {
    std::cerr << "a registration was lost\n";
    return 1;
  }
  const absl::StatusOr<double> sum = LogitSum();
  if (!sum.ok()) {
    std::cerr << sum.status() << "\n";
    return 1;
  }
  std::cout << "logit sum " << *sum << "\n";
  return 0;
}
