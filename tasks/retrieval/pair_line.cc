#include "tasks/retrieval/pair_line.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "lra/excerpt.h"

namespace lra::retrieval {
namespace {

constexpr size_t kColumns = 5;
constexpr absl::string_view kColumnNames[kColumns] = {"label", "id 1", "id 2", "text 1", "text 2"};

// Accepts "0", "1", or either with a point and zeros after it.
std::optional<int32_t> ParseLabel(absl::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  const absl::string_view rest = text.substr(1);
  if (!rest.empty() &&
      (rest[0] != '.' || rest.substr(1).find_first_not_of('0') != absl::string_view::npos)) {
    return std::nullopt;
  }
  return text[0] - '0';
}

absl::Status WrongCount(absl::string_view line) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  return absl::InvalidArgumentError(
      absl::StrCat("the line has ", tabs + 1, tabs == 0 ? " column" : " columns", "; ", kColumns,
                   " with one tab between them are expected: label, id 1, id 2, text 1, text 2"));
}

}  // namespace

absl::StatusOr<PairLine> ParsePairLine(absl::string_view line) {
  std::array<absl::string_view, kColumns> columns;
  absl::string_view rest = line;
  for (size_t i = 0; i < kColumns; ++i) {
    const size_t tab = rest.find('\t');
    if ((tab == absl::string_view::npos) != (i + 1 == kColumns)) return WrongCount(line);
    columns[i] = rest.substr(0, tab);
    rest.remove_prefix(std::min(columns[i].size() + 1, rest.size()));
  }
  const auto where = [&](size_t i) {
    return absl::StrCat("column ", i + 1, " (byte ", columns[i].data() - line.data() + 1, "), ",
                        kColumnNames[i], ", ");
  };
  const std::optional<int32_t> label = ParseLabel(columns[0]);
  if (!label.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where(0), "is ", Excerpt(columns[0]), "; 0 or 1, or 0.0 or 1.0, is expected"));
  }
  for (size_t i = 1; i < kColumns; ++i) {
    if (columns[i].empty()) {
      return absl::InvalidArgumentError(absl::StrCat(where(i), "is empty"));
    }
  }
  return PairLine{*label, columns[1], columns[2], columns[3], columns[4]};
}

}  // namespace lra::retrieval
