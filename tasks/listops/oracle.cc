#include "tasks/listops/oracle.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

struct OpenOperator {
  uint16_t op = 0;
  size_t first = 0;  // where its arguments begin on the stack of values
};

absl::Status Malformed(size_t position, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("token ", position, ": ", what));
}

// Evaluates by sorting, as the definition says. Reorders the arguments.
int32_t Reduce(uint16_t op, absl::Span<int32_t> arguments) {
  if (op == kSm) return std::accumulate(arguments.begin(), arguments.end(), 0) % 10;
  std::sort(arguments.begin(), arguments.end());
  if (op == kMin) return arguments.front();
  if (op == kMax) return arguments.back();
  const size_t middle = arguments.size() / 2;
  if (arguments.size() % 2 == 1) return arguments[middle];
  return (arguments[middle - 1] + arguments[middle]) / 2;
}

}  // namespace

absl::StatusOr<int32_t> Evaluate(absl::Span<const uint16_t> tokens) {
  std::vector<int32_t> values;
  std::vector<OpenOperator> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (open.empty() && !values.empty()) return Malformed(i, "follows a complete expression");
    const uint16_t token = tokens[i];
    if (IsDigit(token)) {
      values.push_back(token - kZero);
    } else if (IsOperator(token)) {
      open.push_back({token, values.size()});
    } else if (token != kClose) {
      return Malformed(i, absl::StrCat("id ", token, " is no ListOps token"));
    } else {
      if (open.empty()) return Malformed(i, "closes a bracket that was not opened");
      const OpenOperator last = open.back();
      open.pop_back();
      if (values.size() == last.first) return Malformed(i, "closes an operator without arguments");
      const int32_t value = Reduce(last.op, absl::MakeSpan(values).subspan(last.first));
      values.resize(last.first);
      values.push_back(value);
    }
  }
  if (!open.empty()) return Malformed(tokens.size(), "a bracket is still open at the end");
  if (values.empty()) return Malformed(0, "there is no expression");
  return values.front();
}

}  // namespace lra::listops
