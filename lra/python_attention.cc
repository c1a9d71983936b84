#include "lra/python_attention.h"

#include "absl/strings/str_cat.h"
#include "lra/config.h"

namespace lra {
namespace {

// The option's text; empty if it is unset.
std::string OptionOf(const AttentionConfig& attention, const std::string& option) {
  for (const auto& [path, value] : LeafFields(attention)) {
    if (path == "options." + option) return value;
  }
  return "";
}

}  // namespace

absl::Status NeedsPython(const google::protobuf::Any& options) {
  AttentionConfig attention;
  *attention.mutable_options() = options;
  const std::string function = OptionOf(attention, "function");
  return absl::FailedPreconditionError(absl::StrCat(
      "attention \"", kPythonAttention, "\"", function.empty() ? "" : " (" + function + ")",
      " lives in Python, where this program cannot call it: lra.train(config, attention=..., "
      "out=RUN, resume=True) of the Python package, with the arguments that made the run, goes on "
      "with it or returns its scores (docs/python.md)"));
}

std::string PythonMethod(const AttentionConfig& attention) {
  return absl::StrCat(kPythonAttention, "-", OptionOf(attention, "name"));
}

}  // namespace lra
