// The suite of `lra train` with lists of tasks and attentions.
#ifndef LRA_SUITE_LISTS_H_
#define LRA_SUITE_LISTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "lra/experiment.h"
#include "suite/suite.pb.h"

namespace lra {

// One group: each task of "text,image" with each attention of "relu,cosformer", each with `seeds`.
// A list that is empty comes from the run file. The errors of ReadTextProto; InvalidArgument for an
// empty name in a list.
absl::StatusOr<SuiteFile> SuiteOfLists(const ExperimentChoice& choice, const std::string& seeds);

// "runs/lists-1a2b3c4d", by the suite's content: the same command goes on in the same folder, also
// in one that an earlier build named otherwise. Data in another folder than its task's default is a
// part of the name, as in DefaultRunDirectory().
std::string DefaultListFolder(const SuiteFile& suite, const std::string& data_dir);

}  // namespace lra

#endif  // LRA_SUITE_LISTS_H_
