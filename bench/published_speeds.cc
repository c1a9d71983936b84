#include "bench/published_speeds.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cell.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

using PrintedRow = PublishedSpeeds::Row;

const PrintedRow* FindRow(const PublishedSpeeds& published, const std::string& attention) {
  for (const PrintedRow& row : published.rows()) {
    if (row.attention() == attention) return &row;
  }
  return nullptr;
}

// Steps a second; nothing where the paper has none.
std::optional<double> Printed(const PrintedRow* row, bool is_training, int column) {
  if (row == nullptr) return std::nullopt;
  const auto& speeds = is_training ? row->training() : row->inference();
  if (column >= speeds.size() || speeds[column] <= 0) return std::nullopt;
  return speeds[column];
}

std::optional<double> Measured(const Series* series, double tokens) {
  if (series == nullptr) return std::nullopt;
  for (const LengthPoint& point : TimePoints(*series)) {
    if (std::abs(point.at - tokens) < tokens / 30) return 1 / point.value;
  }
  return std::nullopt;
}

// The series of a method with its own options.
const Series* FindSeries(const Panel& panel, const std::string& attention) {
  for (const Series& series : panel.series) {
    const BenchRequest& request = series.cells.front().request();
    if (request.attention() == attention && request.options_size() == 0 && !request.causal())
      return &series;
  }
  return nullptr;
}

std::string RatioText(std::optional<double> speed, std::optional<double> reference) {
  return speed && reference ? absl::StrFormat("%.2f", *speed / *reference) : "–";
}

using Numbers = google::protobuf::RepeatedField<double>;

// Adds a column for each length where any row has numbers of this kind.
void AddPrinted(const PublishedSpeeds& published, const char* what,
                const Numbers& (PrintedRow::*numbers)() const, TextTable* table) {
  const bool has_any =
      std::any_of(published.rows().begin(), published.rows().end(),
                  [&](const PrintedRow& row) { return !(row.*numbers)().empty(); });
  if (!has_any) return;
  for (int t = 0; t < published.tokens_size(); ++t) {
    table->header.push_back(absl::StrCat(what, ", ", published.tokens(t)));
    for (int r = 0; r < published.rows_size(); ++r) {
      const Numbers& printed = (published.rows(r).*numbers)();
      table->rows[r].push_back(t >= printed.size() ? "–"
                               : printed[t] == 0.0 ? "out of memory"
                                                   : absl::StrCat(printed[t]));
    }
  }
}

}  // namespace

TextTable PrintedSpeedsTable(const PublishedSpeeds& published) {
  TextTable table = {"", {"method"}, {}};
  for (const PrintedRow& row : published.rows()) table.rows.push_back({row.label()});
  AddPrinted(published, "training", &PrintedRow::training, &table);
  AddPrinted(published, "inference", &PrintedRow::inference, &table);
  AddPrinted(published, "peak GB", &PrintedRow::peak_gigabytes, &table);
  return table;
}

absl::StatusOr<PublishedSpeeds> LoadPublishedSpeeds(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const std::string path,
                       ConfigPath("published_speeds", "published speeds", name));
  PublishedSpeeds published;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &published));
  for (const PrintedRow& row : published.rows()) {
    for (const auto* speeds : {&row.training(), &row.inference(), &row.peak_gigabytes()}) {
      if (!speeds->empty() && speeds->size() != published.tokens_size()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": ", row.label(), " has ",
                                                       speeds->size(), " values for ",
                                                       published.tokens_size(), " lengths"));
      }
    }
  }
  return published;
}

TextTable PublishedSpeedsTable(const PublishedSpeeds& published, const Panel& panel,
                               const std::string& reference) {
  const BenchRequest& setting = panel.series.front().cells.front().request();
  if (setting.scope() != BenchRequest::STEP || setting.mode() == BenchRequest::STREAMING ||
      panel.axis() != Axis::kTokens) {
    return {};
  }
  const bool is_training = setting.mode() == BenchRequest::TRAINING;
  TextTable table = {
      absl::StrCat("Speed over that of ", reference, ", printed / ours. ", published.source(), ". ",
                   published.note(), "\nOurs: ", panel.title),
      {"attention"},
      {}};
  for (const int64_t tokens : published.tokens())
    table.header.push_back(absl::StrCat(tokens / 1000, "K"));
  bool is_any = false;
  for (const PrintedRow& row : published.rows()) {
    const Series* ours = FindSeries(panel, row.attention());
    if (ours == nullptr) continue;
    std::vector<std::string> cells = {row.label()};
    for (int i = 0; i < published.tokens_size(); ++i) {
      const double tokens = double(published.tokens(i));
      const std::string measured =
          RatioText(Measured(ours, tokens), Measured(FindSeries(panel, reference), tokens));
      cells.push_back(
          absl::StrCat(RatioText(Printed(&row, is_training, i),
                                 Printed(FindRow(published, reference), is_training, i)),
                       " / ", measured));
      is_any = is_any || measured != "–";
    }
    table.rows.push_back(std::move(cells));
  }
  return is_any ? table : TextTable();
}

}  // namespace lra
