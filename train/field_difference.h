// Fields in which two runs' configurations differ, for errors that name one.
#ifndef LRA_TRAIN_FIELD_DIFFERENCE_H_
#define LRA_TRAIN_FIELD_DIFFERENCE_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"

namespace lra {

struct ConfigDifference {
  std::string path;
  // "unset" where one has no such field.
  std::string here, there;
};

// The first field by path that `counts` and that differs. A field that is younger than one of the
// configurations has the value there that such a run had.
std::optional<ConfigDifference> FirstFieldDifference(
    const ExperimentConfig& here, const ExperimentConfig& there,
    absl::FunctionRef<bool(absl::string_view)> counts);

// "model.width is 64, that run has 32"
std::string DescribeDifference(const ConfigDifference& difference);

}  // namespace lra

#endif  // LRA_TRAIN_FIELD_DIFFERENCE_H_
