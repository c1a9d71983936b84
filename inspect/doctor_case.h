// Everything that can be known about a run, gathered for `lra doctor`: data, weights and records
// together.
#ifndef LRA_INSPECT_DOCTOR_CASE_H_
#define LRA_INSPECT_DOCTOR_CASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/task_knowledge.h"
#include "eval/doctor.h"
#include "models/classifier_factory.h"

namespace lra {

struct CaseRequest {
  std::string run;  // a run folder
  // Empty = the folder that the run was trained on; where that is gone or not known,
  // DefaultDataDirectory of the run's task.
  std::string data_dir;
  // What the run's task knows about its data.
  KnowledgeOf knowledge_of;
  int threads = 0;
  std::string device = "cpu";  // of the model, as OpenDevice
  ClassifierFactory make_classifier = CreateClassifier;
};

struct GatheredCase {
  DoctorCase facts;
  // Why data or weights were not looked at, and why a run stopped.
  std::vector<std::string> notes;
};

// Data and weights that cannot be looked at are left out and noted. Errors: those of ReadActivePart
// and LoadLandmarks; with a data_dir that is given also those of LookAtData; FailedPrecondition for
// a run in its pretraining.
absl::StatusOr<GatheredCase> GatherCase(const CaseRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_DOCTOR_CASE_H_
