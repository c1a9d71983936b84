#include "train/lengths.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lra/config_check.h"
#include "lra/option_facts.h"
#include "lra/reflection.h"

namespace lra {
absl::Status CheckLengths(const ResolvedConfig& resolved, const TaskSpec& spec) {
  const std::unique_ptr<google::protobuf::Message> options =
      UnpackAny(resolved.config.attention().options());
  if (options == nullptr) return absl::OkStatus();  // the attention itself refuses that
  for (const OptionFact& option : DescribeOptions(*options)) {
    const std::string path = absl::StrCat("attention.options.", option.name);
    int64_t tokens = 0;
    if (!option.is_length || !absl::SimpleAtoi(option.value, &tokens) ||
        tokens <= spec.max_length_tokens() || !IsGivenByUser(resolved, path))
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ", tokens, " (", resolved.provenance.at(path),
                     "), but the longest sequence of ", spec.name(), " under this view has ",
                     spec.max_length_tokens(), " tokens"));
  }
  return absl::OkStatus();
}

}  // namespace lra
