// Everything that can be known about a run, gathered for `lra doctor`: the one place that sees
// tasks, data, weights and records together.
#ifndef LRA_CLI_DOCTOR_CASE_H_
#define LRA_CLI_DOCTOR_CASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/doctor.h"

namespace lra {

// Of the run folder `run`. Data and weights that cannot be looked at are left out, with the reason
// in *failures. Errors: those of ReadRunFolder and LoadLandmarks; with `data_is_given` also those
// of the look at the data.
absl::StatusOr<DoctorCase> GatherCase(const std::string& run, std::string data_dir,
                                      bool data_is_given, int threads,
                                      std::vector<std::string>* failures);

}  // namespace lra

#endif  // LRA_CLI_DOCTOR_CASE_H_
