// Measures of locality as JSON.
#ifndef LRA_EVAL_LOCALITY_JSON_H_
#define LRA_EVAL_LOCALITY_JSON_H_

#include "eval/locality.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

nlohmann::ordered_json LocalityAsJson(const Locality& locality);

}  // namespace lra

#endif  // LRA_EVAL_LOCALITY_JSON_H_
