// An attention that lives in Python: a run that `lra.train` of the package made (docs/python.md).
// Its configuration names it "python", and its options (models/attention/python.proto) say which
// one it is; the program can read such a run and cannot compute it.
#ifndef LRA_PYTHON_ATTENTION_H_
#define LRA_PYTHON_ATTENTION_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/any.pb.h"
#include "lra/config.pb.h"

namespace lra {

inline constexpr char kPythonAttention[] = "python";

// FailedPrecondition with what to call in Python; `options` may be empty.
absl::Status NeedsPython(const google::protobuf::Any& options);

// What a row of a table calls it: "python-" and its name.
std::string PythonMethod(const AttentionConfig& attention);

}  // namespace lra

#endif  // LRA_PYTHON_ATTENTION_H_
