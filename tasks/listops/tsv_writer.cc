#include "tasks/listops/tsv_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "tasks/listops/tsv_parser.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

// The number of arguments of the operator at each position; 0 elsewhere.
absl::StatusOr<std::vector<int>> CountArguments(const std::vector<uint16_t>& tokens) {
  std::vector<int> arguments(tokens.size(), 0);
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == kClose) {
      if (open.empty()) return absl::InvalidArgumentError("a bracket is closed that is not open");
      open.pop_back();
      continue;
    }
    if (!open.empty()) ++arguments[open.back()];
    if (IsOperator(tokens[i])) open.push_back(i);
  }
  if (!open.empty()) return absl::InvalidArgumentError("a bracket is left open");
  return arguments;
}

}  // namespace

absl::StatusOr<std::string> FormatTsvLine(const EncodedExample& example) {
  LRA_ASSIGN_OR_RETURN(const std::vector<int> arguments, CountArguments(example.tokens));
  std::vector<absl::string_view> words;
  int depth = 0;
  for (size_t i = 0; i < example.tokens.size(); ++i) {
    const uint16_t token = example.tokens[i];
    if (IsOperator(token)) {
      words.insert(words.end(), arguments[i] + 1, "(");
      words.push_back(kTokenNames[token]);
      ++depth;
      continue;
    }
    words.push_back(kTokenNames[token]);
    if (token == kClose) {
      words.push_back(")");
      --depth;
    }
    if (depth > 0) words.push_back(")");  // the node was an argument
  }
  return absl::StrCat(absl::StrJoin(words, " "), "\t", example.label);
}

absl::StatusOr<std::vector<int64_t>> WriteSampleFiles(const Task& task, absl::string_view folder,
                                                      uint32_t seed) {
  constexpr absl::string_view kFiles[] = {"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"};
  const std::vector<int64_t> examples = {12, 6, 6};
  for (uint32_t split = 0; split < examples.size(); ++split) {
    std::string text = absl::StrCat(kTsvHeader, "\r\n");
    for (uint32_t i = 0; i < examples[split]; ++i) {
      uint32_t attempt = 0;
      LRA_ASSIGN_OR_RETURN(const EncodedExample example, task.Generate(seed, split, i, &attempt));
      LRA_ASSIGN_OR_RETURN(const std::string line, FormatTsvLine(example));
      absl::StrAppend(&text, line, "\r\n");
    }
    LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, kFiles[split]), text));
  }
  return examples;
}

}  // namespace lra::listops
