// One promise after the other is tried, whatever came of the one before.
#ifndef LRA_MODELS_CONFORMANCE_TRY_PROMISE_H_
#define LRA_MODELS_CONFORMANCE_TRY_PROMISE_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "models/base/torch_status.h"
#include "models/conformance/conformance.h"

namespace lra {

// A broken promise of which nothing could be compared; `detail` is the case. Only the first line of
// a message is kept: behind it LibTorch lists what it knows.
inline ConformanceResult NotCompared(absl::string_view id, absl::string_view name,
                                     absl::string_view detail, const absl::Status& why) {
  const absl::string_view message = why.message();
  ConformanceResult result;
  result.id = std::string(id);
  result.attention = std::string(name);
  result.measured = std::numeric_limits<double>::infinity();
  result.detail = absl::StrCat(detail, ": ", message.substr(0, message.find('\n')));
  result.was_compared = false;
  return result;
}

// Adds what was found in models with the plug-in; one broken promise M1 where none could be made.
inline void AddOfModels(absl::string_view name,
                        const absl::StatusOr<std::vector<ConformanceResult>>& found,
                        std::vector<ConformanceResult>* results) {
  if (found.ok()) {
    results->insert(results->end(), found->begin(), found->end());
  } else {
    results->push_back(NotCompared("M1", name, "a model with it", found.status()));
  }
}

namespace internal {

// Runs body(), which adds the results of a promise; what it throws is one more, which failed.
template <class Body>
void TryPromise(absl::string_view id, absl::string_view name, absl::string_view detail,
                std::vector<ConformanceResult>* results, Body body) {
  const absl::Status status = CatchTorch([&]() -> absl::Status {
    body();
    return absl::OkStatus();
  });
  if (!status.ok()) results->push_back(NotCompared(id, name, detail, status));
}

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_TRY_PROMISE_H_
