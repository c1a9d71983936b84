#include "tasks/listops/tsv_parser.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

// An automaton over the words of Source.
class SourceParser {
 public:
  SourceParser(absl::string_view text, std::vector<uint16_t>* tokens)
      : text_(text), tokens_(tokens) {}

  absl::Status Parse() {
    while (true) {
      LRA_RETURN_IF_ERROR(ParseWord());
      if (at_ == text_.size()) break;
      ++at_;  // skips the blank
    }
    word_ = "the end";
    return state_ == kEnd ? absl::OkStatus() : Unexpected();
  }

 private:
  enum State {
    kNode,        // expects a digit, "(" or, after "(", an operator
    kAfterNode,   // expects ")" after an argument
    kAfterPair,   // expects the next argument, or "]" after the last
    kAfterClose,  // expects ")" after "]"
    kEnd,         // expects nothing
  };

  absl::Status ParseWord() {
    const size_t end = std::min(text_.find(' ', at_), text_.size());
    word_ = text_.substr(at_, end - at_);
    column_ = at_ + 1;
    at_ = end;
    if (state_ == kEnd) return Unexpected();
    if (state_ == kAfterPair) {
      if (arguments_left_.back() > 0) {
        state_ = kNode;
      } else if (word_ == "]") {
        tokens_->push_back(kClose);
        state_ = kAfterClose;
        return absl::OkStatus();
      } else {
        return Unexpected();
      }
    }
    if (state_ == kNode) return ParseNode();
    if (word_ != ")") return Unexpected();
    if (state_ == kAfterNode) {
      --arguments_left_.back();
      state_ = kAfterPair;
    } else {
      arguments_left_.pop_back();
      EndNode();
    }
    return absl::OkStatus();
  }

  absl::Status ParseNode() {
    if (word_ == "(") {
      ++brackets_;
      return absl::OkStatus();
    }
    const uint16_t id = TokenId(word_);
    if (brackets_ == 0 && IsDigit(id)) {
      tokens_->push_back(id);
      EndNode();
      return absl::OkStatus();
    }
    // There are at least two arguments, so at least three brackets.
    if (!IsOperator(id) || brackets_ < 3) return Unexpected();
    tokens_->push_back(id);
    arguments_left_.push_back(brackets_ - 1);
    brackets_ = 0;
    state_ = kAfterPair;
    return absl::OkStatus();
  }

  void EndNode() { state_ = arguments_left_.empty() ? kEnd : kAfterNode; }

  absl::string_view Expected() const {
    switch (state_) {
      case kNode:
        return brackets_ == 0  ? "a digit or \"(\""
               : brackets_ < 3 ? "\"(\" (an operator has at least two arguments)"
                               : "\"(\" or an operator";
      case kAfterPair:
        return "\"]\"";
      case kAfterNode:
      case kAfterClose:
        return "\")\"";
      default:
        return "the end of the expression";
    }
  }

  absl::Status Unexpected() const {
    return absl::InvalidArgumentError(absl::StrCat("column ", column_, ": \"",
                                                   absl::CHexEscape(word_.substr(0, 20)),
                                                   "\" where ", Expected(), " is expected"));
  }

  const absl::string_view text_;
  std::vector<uint16_t>* const tokens_;
  size_t at_ = 0, column_ = 1;
  absl::string_view word_;
  State state_ = kNode;
  int64_t brackets_ = 0;  // how many "(" came since the node began
  std::vector<int64_t> arguments_left_;
};

}  // namespace

absl::StatusOr<EncodedExample> ParseTsvLine(absl::string_view line) {
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos || line.find('\t', tab + 1) != absl::string_view::npos) {
    return absl::InvalidArgumentError("there are not two columns with one tab between them");
  }
  EncodedExample example;
  example.tokens.reserve(tab / 6 + 1);  // n tokens take 3n - 2 words
  LRA_RETURN_IF_ERROR(SourceParser(line.substr(0, tab), &example.tokens).Parse());
  const absl::string_view label = line.substr(tab + 1);
  if (label.size() != 1 || !IsDigit(TokenId(label))) {
    return absl::InvalidArgumentError(absl::StrCat("column ", tab + 2, ": the label is \"",
                                                   absl::CHexEscape(label.substr(0, 20)),
                                                   "\"; a digit 0 to 9 is expected"));
  }
  example.label = TokenId(label) - kZero;
  return example;
}

}  // namespace lra::listops
