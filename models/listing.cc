#include "models/listing.h"

#include <memory>
#include <utility>

#include "lra/config.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::StatusOr<int64_t> CountWith(const std::string& attention, ExperimentChoice choice,
                                  const TaskSpec& spec) {
  choice.attention = attention;
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice));
  return CountParameters(resolved.config, spec);
}

std::vector<OptionFact> OptionsIn(const google::protobuf::Any& packed) {
  const std::unique_ptr<google::protobuf::Message> options = UnpackAny(packed);
  return options == nullptr ? std::vector<OptionFact>() : DescribeOptions(*options);
}

}  // namespace

absl::StatusOr<ListedBlock> ListBlock(const std::string& name, ExperimentChoice choice) {
  ListedBlock listed;
  LRA_ASSIGN_OR_RETURN(listed.description, ConfigDescription("blocks", name));
  choice.attention = kReferenceAttention;
  choice.sets.push_back("block.name=" + name);
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice));
  LRA_ASSIGN_OR_RETURN(listed.facts, DescribeBlock(resolved.config));
  listed.options = OptionsIn(resolved.config.block().options());
  return listed;
}

absl::StatusOr<ListedAttention> ListAttention(const ExperimentChoice& choice) {
  ListedAttention listed;
  LRA_ASSIGN_OR_RETURN(listed.description, ConfigDescription("attentions", choice.attention));
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice));
  const google::protobuf::Any& packed = resolved.config.attention().options();
  listed.sizes = SizesOf(resolved.config);
  LRA_ASSIGN_OR_RETURN(listed.facts, DescribeAttention(choice.attention, packed, listed.sizes));
  listed.options = OptionsIn(packed);
  return listed;
}

absl::StatusOr<std::vector<ListedModel>> ListModels(const std::vector<std::string>& attentions,
                                                    const ExperimentChoice& choice,
                                                    const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(const int64_t reference, CountWith(kReferenceAttention, choice, spec));
  std::vector<ListedModel> models;
  for (const std::string& attention : attentions) {
    const absl::StatusOr<int64_t> count = CountWith(attention, choice, spec);
    if (count.ok()) {
      models.push_back({attention, CompareParameters(*count, reference)});
    } else if (attentions.size() == 1) {
      return count.status();
    } else {  // sizes that one method refuses are no reason to hide the others
      models.push_back({attention, count.status()});
    }
  }
  return models;
}

}  // namespace lra
