#include "models/size_estimate.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/base/shapes_only.h"
#include "models/block_facts.h"
#include "models/classifier.h"

namespace lra {
namespace {

int64_t BytesOf(const std::vector<Parameter>& values) {
  int64_t bytes = 0;
  for (const Parameter& value : values) bytes += value.value.numel() * value.value.element_size();
  return bytes;
}

}  // namespace

absl::StatusOr<SizeEstimate> EstimateSize(const ExperimentConfig& config, const TaskSpec& spec,
                                          int64_t tokens) {
  const ShapesOnlyScope shapes_only;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model, Classifier::Create(config, spec));
  const int64_t with_cls = tokens + (config.model().pooling() == ModelConfig::CLS ? 1 : 0);
  LRA_ASSIGN_OR_RETURN(const BlockFacts block, DescribeBlock(config, BatchSize{1, with_cls}));
  const int64_t texts = spec.is_pair() ? 2 : 1;
  const int64_t layers = config.model().layers();
  const bool is_half = config.numerics().precision() == NumericsConfig::BF16;
  const int64_t trained = BytesOf(model->parameters().parameters());
  SizeEstimate size;
  size.parameters = model->parameters().count();
  size.weight_bytes = trained + BytesOf(model->parameters().buffers());
  size.training_bytes = size.weight_bytes + 3 * trained;
  // A block's estimate is right within a factor of two.
  size.activation_bytes = texts * layers * (block.activation_bytes / (is_half ? 4 : 2));
  size.operations_per_token = 6.0 * static_cast<double>(layers * block.parameters);
  return size;
}

std::string DescribeSizes(const ModelConfig& model) {
  return absl::StrCat("model.layers ", model.layers(), ", model.width ", model.width(),
                      ", model.qkv_width ", model.qkv_width(), ", model.mlp_width ",
                      model.mlp_width(), ", model.head_width ", model.head_width());
}

}  // namespace lra
