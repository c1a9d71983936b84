#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tasks/listops/oracle.h"
#include "tasks/listops/tsv_parser.h"
#include "tasks/listops/vocabulary.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra::listops {
namespace {

// Writes Source from tokens as the parser's header describes it: k + 1 times "(" for k arguments.
std::string Source(const std::vector<uint16_t>& tokens) {
  struct Node {
    std::string words;  // words from the operator on
    int arguments = 0;
  };
  std::vector<Node> open;
  std::string done;
  for (const uint16_t token : tokens) {
    const std::string name(kTokenNames[token]);
    if (IsOperator(token)) {
      open.push_back({name});
      continue;
    }
    done = name;
    if (token == kClose) {
      LRA_CHECK(open.back().arguments >= 2);
      done.clear();
      for (int i = 0; i <= open.back().arguments; ++i) done += "( ";
      absl::StrAppend(&done, open.back().words, " ] )");
      open.pop_back();
    }
    if (open.empty()) continue;
    absl::StrAppend(&open.back().words, " ", done, " )");
    ++open.back().arguments;
  }
  return done;
}

}  // namespace
}  // namespace lra::listops

LRA_FUZZ_TARGET(listops) {
  const auto example = lra::listops::ParseTsvLine(input);
  if (!example.ok()) return;
  LRA_CHECK(example->label >= 0 && example->label <= 9);
  LRA_CHECK(lra::listops::Evaluate(example->tokens).ok());
  // A tree can be written in one way only.
  LRA_CHECK(absl::StrCat(lra::listops::Source(example->tokens), "\t", example->label) == input);
}
