// Attentions, blocks and models side by side, at the sizes of one task and preset: `lra list`.
#ifndef LRA_MODELS_LISTING_H_
#define LRA_MODELS_LISTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/experiment.h"
#include "lra/option_facts.h"
#include "lra/task_spec.pb.h"
#include "models/attention_facts.h"
#include "models/block_facts.h"
#include "models/parameter_count.h"

namespace lra {

struct ListedAttention {
  std::string description;          // of its config file
  AttentionSizes sizes;             // of the model that it is described in
  AttentionFacts facts;             // at these sizes
  std::vector<OptionFact> options;  // as the model has them, with what they may be
};
// choice.attention in the model of `choice`. The errors of ResolveExperiment and DescribeAttention.
absl::StatusOr<ListedAttention> ListAttention(const ExperimentChoice& choice);

struct ListedBlock {
  std::string description;          // of its config file
  BlockFacts facts;                 // of a layer of the model
  std::vector<OptionFact> options;  // as the model has them, with what they may be
};
// The block as a layer of the model of `choice`, with softmax attention inside where it uses one.
// The errors of ResolveExperiment and DescribeBlock.
absl::StatusOr<ListedBlock> ListBlock(const std::string& name, ExperimentChoice choice);

struct ListedModel {
  std::string attention;
  // Its trained parameters beside those of the model with softmax attention, or why there is no
  // such model.
  absl::StatusOr<ParameterDifference> parameters;
};
// The model of `choice` with each of the attentions, on the task `spec`. An error only where the
// model with softmax attention, or the only one that is asked for, cannot be made.
absl::StatusOr<std::vector<ListedModel>> ListModels(const std::vector<std::string>& attentions,
                                                    const ExperimentChoice& choice,
                                                    const TaskSpec& spec);

}  // namespace lra

#endif  // LRA_MODELS_LISTING_H_
