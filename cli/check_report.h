// How `lra check` shows what the conformance suite found, of attentions and blocks alike.
#ifndef LRA_CLI_CHECK_REPORT_H_
#define LRA_CLI_CHECK_REPORT_H_

#include <string>
#include <vector>

#include "models/conformance/report.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

struct CheckedPlugin {
  std::string kind, name, label, source;  // "attention", "linear", "Linear Transformer", paper
  std::vector<PromiseReport> promises;
  std::vector<TraitReport> traits;
};

// Prints it, or appends it to `json` where that is given. The number of broken promises.
int ShowChecked(const CheckedPlugin& checked, nlohmann::ordered_json* json);

// JSON has no infinity.
nlohmann::ordered_json JsonNumber(double value);
std::string ErrorText(double value);

}  // namespace lra

#endif  // LRA_CLI_CHECK_REPORT_H_
