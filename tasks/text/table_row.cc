#include "tasks/text/table_row.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/excerpt.h"

namespace lra::text {
namespace {

constexpr absl::string_view kLabels[2][3] = {{"0", "neg", "negative"}, {"1", "pos", "positive"}};
constexpr absl::string_view kLabelNames[] = {"label", "sentiment", "class", "polarity", "target"};
constexpr absl::string_view kTextNames[] = {"text", "review", "sentence", "content", "document"};
constexpr absl::string_view kLabelWords = "0, neg, negative or 1, pos, positive";

template <size_t size>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[size]) {
  return std::any_of(std::begin(names), std::end(names), [&](absl::string_view candidate) {
    return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(name), candidate);
  });
}

absl::Status RowError(int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

}  // namespace

std::optional<int32_t> ParseLabel(absl::string_view text) {
  for (int32_t label = 0; label < 2; ++label) {
    for (const absl::string_view word : kLabels[label]) {
      if (text == word) return label;
    }
  }
  return std::nullopt;
}

absl::StatusOr<TableLayout> DetectLayout(const CsvRow& first) {
  LRA_CHECK(first.fields.size() == kTableColumns) << first.fields.size();
  const std::string &a = first.fields[0], &b = first.fields[1];
  const bool a_is_label = ParseLabel(a).has_value(), b_is_label = ParseLabel(b).has_value();
  if (a_is_label && b_is_label) {
    return RowError(first.line, absl::StrCat("both ", Excerpt(a), " and ", Excerpt(b),
                                             " are labels; a header, label,text or text,label, is "
                                             "needed to tell which is"));
  }
  if (a_is_label || b_is_label) return TableLayout{b_is_label ? 1 : 0, false};
  const bool label_first = IsOneOf(a, kLabelNames) || IsOneOf(b, kTextNames);
  const bool label_second = IsOneOf(b, kLabelNames) || IsOneOf(a, kTextNames);
  if (label_first != label_second) return TableLayout{label_second ? 1 : 0, true};
  return RowError(first.line,
                  absl::StrCat("cannot tell label from text: the first row is ", Excerpt(a), ", ",
                               Excerpt(b), "; a header (label,text or text,label) or a label (",
                               kLabelWords, ") is expected"));
}

absl::StatusOr<LabelledText> ParseTableRow(const TableLayout& layout, CsvRow row) {
  LRA_CHECK(row.fields.size() == kTableColumns) << row.fields.size();
  const std::string& word = row.fields[layout.label_column];
  const std::optional<int32_t> label = ParseLabel(word);
  if (!label.has_value()) {
    return RowError(row.line, absl::StrCat("the label in column ", layout.label_column + 1, " is ",
                                           Excerpt(word), "; ", kLabelWords, " is expected"));
  }
  std::string& text = row.fields[1 - layout.label_column];
  if (text.empty()) {
    return RowError(row.line,
                    absl::StrCat("the text in column ", 2 - layout.label_column, " is empty"));
  }
  return LabelledText{*label, std::move(text), row.line};
}

}  // namespace lra::text
