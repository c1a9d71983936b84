// Suites whose runs start each from an encoder of its own seed and attention.
#ifndef LRA_SUITE_OWN_ENCODERS_H_
#define LRA_SUITE_OWN_ENCODERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "suite/cells.h"
#include "suite/suite.pb.h"

namespace lra {

// What settings of a suite's file say in place of a digest: the weights' that are named when the
// suite is run, "encoder_weights_sha256={init-from}".
inline constexpr char kInitFrom[] = "{init-from}";

// Lists in suite.encoder the encoder of each run that asks for one, which `path` names with {seed}
// and perhaps {attention} (train/encoder_recipe.h), and puts the path into the suite. Where the
// suite lists encoders already, as a folder's does, they are the same ones.
// InvalidArgument for others, for a suite of whose runs none asks, and for two runs of one
// attention and seed to which one encoder is another recipe; the errors of ExpandSuite and
// FindOwnEncoder.
absl::Status ListOwnEncoders(const std::string& path, SuiteFile* suite);

// Has the cells that ask for an encoder start from the suite's; nothing where it lists none.
// InvalidArgument names the attention and seed for which it has none.
absl::Status StartFromOwnEncoders(const SuiteFile& suite, std::vector<SuiteCell>* cells);

}  // namespace lra

#endif  // LRA_SUITE_OWN_ENCODERS_H_
