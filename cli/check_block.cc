#include "cli/check_block.h"

#include "cli/check_report.h"
#include "lra/status_macros.h"
#include "models/block_facts.h"
#include "models/conformance/conformance.h"
#include "models/conformance/report.h"
#include "models/conformance/try_promise.h"
#include "nlohmann/json.hpp"

namespace lra {

absl::StatusOr<int> CheckAndPrintBlock(const std::string& name,
                                       const std::vector<std::string>& sets,
                                       const TrialFlags& trial, nlohmann::ordered_json* json) {
  LRA_ASSIGN_OR_RETURN(const CheckSetting setting, ParseCheckSetting(trial.device, trial.dtype));
  LRA_ASSIGN_OR_RETURN(const google::protobuf::Any options, LoadBlockOptions(name, sets));
  LRA_ASSIGN_OR_RETURN(const BlockTraits traits, TraitsOfCheckedBlock(name, options));
  LRA_ASSIGN_OR_RETURN(std::vector<ConformanceResult> results, CheckBlock(name, options, setting));
  AddOfModels(name, CheckBlockInClassifier(name, options, setting), &results);
  return ShowChecked({"block", name, traits.label, traits.source, ReportPromises(results),
                      ReportTraits(traits, results)},
                     json);
}

}  // namespace lra
