#include "models/conformance/registration_rules.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"
#include "models/attention_facts.h"
#include "models/conformance/try_promise.h"
#include "models/interface/options.h"

namespace lra::internal {
namespace {

// The task that most protocols have rules for.
constexpr char kRuledTask[] = "listops";
constexpr AttentionSizes kDescribedSizes = {2, 32, 64, 256};

ConformanceResult ResultOfRule(const char* id, absl::string_view name, const char* words,
                               const std::vector<std::string>& wrong) {
  return {id,
          std::string(name),
          wrong.empty(),
          static_cast<double>(wrong.size()),
          0,
          wrong.empty() ? words : absl::StrJoin(wrong, "; ")};
}

absl::StatusOr<Traits> TraitsWith(absl::string_view name,
                                  const absl::StatusOr<google::protobuf::Any>& options) {
  LRA_RETURN_IF_ERROR(options.status());
  LRA_ASSIGN_OR_RETURN(const AttentionFacts facts,
                       DescribeAttention(name, *options, kDescribedSizes));
  return facts.traits;
}

}  // namespace

ConformanceResult CheckWords(absl::string_view name, const Traits& traits) {
  const std::pair<const char*, const std::string*> needed[] = {
      {"label", &traits.label},
      {"summary", &traits.summary},
      {"source", &traits.source},
      {"time_order", &traits.time_order},
      {"memory_order", &traits.memory_order}};
  std::vector<std::string> wrong;
  for (const auto& [field, text] : needed) {
    if (text->empty()) wrong.push_back(absl::StrCat("traits.", field, " is empty"));
  }
  const bool has_choice = traits.causality == Causality::kOptional;
  if (has_choice && !traits.causal_reason.empty())
    wrong.emplace_back("traits.causal_reason is given, though causality is kOptional");
  if (!has_choice && traits.causal_reason.empty())
    wrong.emplace_back("traits.causal_reason is empty: why is causality not kOptional?");
  return ResultOfRule("S", name, "texts of the traits", wrong);
}

ConformanceResult CheckDropout(absl::string_view name, const Traits& traits) {
  std::vector<std::string> wrong;
  const absl::StatusOr<std::vector<std::string>> protocols = NamesForTask("protocols", kRuledTask);
  if (!protocols.ok()) return NotCompared("C", name, "protocols", protocols.status());
  for (const std::string& protocol : *protocols) {
    ConfigBuilder builder(kRuledTask);
    absl::Status added = builder.AddProtocol(protocol);
    if (added.ok()) added = builder.AddAttention(name);
    if (!added.ok()) return NotCompared("C", name, protocol, added);
    if (traits.supports_weight_dropout || builder.config().attention().dropout() == 0) continue;
    wrong.push_back(absl::StrCat("protocol ", protocol,
                                 " drops weights, and there are none to drop: set attention { "
                                 "dropout: 0 } in configs/attentions/",
                                 name, ".textproto"));
  }
  return ResultOfRule("C", name, "attention.dropout under every protocol", wrong);
}

std::vector<ConformanceResult> CheckRegistration(absl::string_view name,
                                                 const google::protobuf::Any& options) {
  const absl::StatusOr<Traits> traits = TraitsWith(name, options),
                               of_file = TraitsWith(name, LoadAttentionOptions(name));
  return {traits.ok() ? CheckWords(name, *traits)
                      : NotCompared("S", name, "its traits", traits.status()),
          of_file.ok() ? CheckDropout(name, *of_file)
                       : NotCompared("C", name, "its file", of_file.status())};
}

}  // namespace lra::internal
