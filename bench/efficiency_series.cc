#include "bench/efficiency_series.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cell.h"
#include "bench/cost.h"
#include "bench/grid.h"
#include "lra/progress.h"

namespace lra {
namespace {

bool IsMeasured(const BenchRecord& record) {
  return record.result().outcome() == BenchResult::MEASURED;
}

void AddCell(const BenchRecord& record, std::vector<BenchRecord>* cells) {
  const int64_t tokens = record.request().tokens();
  auto place = std::find_if(cells->begin(), cells->end(), [&](const BenchRecord& other) {
    return other.request().tokens() >= tokens;
  });
  if (place != cells->end() && place->request().tokens() == tokens) {
    *place = record;
  } else {
    cells->insert(place, record);
  }
}

std::string PanelKey(const Series& series) {
  BenchRecord record = series.cells.front();
  record.mutable_request()->clear_attention();
  record.mutable_request()->clear_options();
  record.mutable_request()->clear_causal();
  return SeriesKey(record);
}

std::string ModeText(const BenchRequest& request) {
  const bool is_model = request.scope() == BenchRequest::STEP;
  switch (request.mode()) {
    case BenchRequest::FORWARD:
      return is_model ? "Model, forward pass" : "Attention alone, forward";
    case BenchRequest::STREAMING:
      return is_model ? "Layers of the model, one token of a stream"
                      : "Attention alone, one token of a stream";
    default:
      return is_model ? "Model, training step" : "Attention alone, forward and backward";
  }
}

std::string TitleOf(const BenchRecord& record) {
  const BenchRequest& request = record.request();
  std::string title = absl::StrFormat("%s: %s, %d heads of width %d", ModeText(request),
                                      record.regime(), request.heads(), request.head_width());
  if (request.scope() == BenchRequest::STEP)
    absl::StrAppendFormat(&title, ", %d layers, MLP %d", request.layers(), request.mlp_width());
  absl::StrAppend(&title, ", ", PrecisionName(request.precision()));
  if (request.padded()) absl::StrAppend(&title, ", lengths from N to N / 2");
  if (!record.machine().machine().kernels().empty()) {
    absl::StrAppendFormat(&title, ", %d threads, %s kernels", record.machine().threads(),
                          record.machine().machine().kernels());
  }
  if (request.budget_bytes() > 0)
    absl::StrAppend(&title, ", at most ", FormatBytes(request.budget_bytes()), " of tensors");
  return title;
}

double BytesOf(const BenchRecord& record) {
  const BenchResult& result = record.result();
  return static_cast<double>(record.request().mode() == BenchRequest::STREAMING
                                 ? result.state_bytes()
                                 : result.passes().peak_bytes());
}

std::vector<int64_t> LengthsOf(const std::vector<Series>& series) {
  std::set<int64_t> lengths;
  for (const Series& one : series) {
    for (const BenchRecord& record : one.cells) lengths.insert(record.request().tokens());
  }
  return {lengths.begin(), lengths.end()};
}

std::string LengthText(int64_t tokens) {
  return tokens % 1024 == 0 ? absl::StrCat(tokens / 1024, "K") : absl::StrCat(tokens);
}

std::string ExponentText(const std::vector<LengthPoint>& points) {
  const std::optional<double> exponent = GrowthExponent(points);
  return exponent ? absl::StrFormat("%.2f", *exponent) : "–";
}

// `text` gives a measured cell; an empty `points` leaves the column of exponents out.
TextTable TableOf(const std::string& title, const std::vector<Series>& series,
                  const std::function<std::string(const BenchRecord&)>& text,
                  const std::function<std::vector<LengthPoint>(const Series&)>& points) {
  TextTable table;
  table.title = title;
  table.header = {"attention"};
  const std::vector<int64_t> lengths = LengthsOf(series);
  for (const int64_t tokens : lengths) table.header.push_back(LengthText(tokens));
  if (points) table.header.push_back("exponent");
  for (const Series& one : series) {
    std::map<int64_t, std::string> cells;
    for (const BenchRecord& record : one.cells) {
      cells[record.request().tokens()] =
          IsMeasured(record) ? text(record) : OutcomeText(record.result());
    }
    std::vector<std::string> row = {one.label};
    for (const int64_t tokens : lengths)
      row.push_back(cells.count(tokens) > 0 ? cells[tokens] : "");
    if (points) row.push_back(ExponentText(points(one)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<Series> GroupSeries(const std::vector<BenchRecord>& records) {
  std::vector<Series> all;
  std::map<std::string, size_t> places;
  for (const BenchRecord& record : records) {
    const auto [place, is_new] = places.emplace(SeriesKey(record), all.size());
    if (is_new) all.push_back({MethodLabel(record.request()), {}});
    AddCell(record, &all[place->second].cells);
  }
  return all;
}

std::vector<Panel> GroupPanels(const std::vector<BenchRecord>& records) {
  std::vector<Panel> panels;
  std::map<std::string, size_t> places;
  for (Series& series : GroupSeries(records)) {
    const auto [place, is_new] = places.emplace(PanelKey(series), panels.size());
    if (is_new) panels.push_back({TitleOf(series.cells.front()), {}});
    panels[place->second].series.push_back(std::move(series));
  }
  return panels;
}

std::vector<LengthPoint> TimePoints(const Series& series) {
  std::vector<LengthPoint> points;
  for (const BenchRecord& record : series.cells) {
    if (IsMeasured(record))
      points.push_back(
          {double(record.request().tokens()), MedianSeconds(record.result().passes())});
  }
  return points;
}

std::vector<LengthPoint> MemoryPoints(const Series& series) {
  std::vector<LengthPoint> points;
  for (const BenchRecord& record : series.cells) {
    if (IsMeasured(record) && BytesOf(record) > 0)
      points.push_back({double(record.request().tokens()), BytesOf(record)});
  }
  return points;
}

TextTable TimeTable(const std::string& title, const std::vector<Series>& series) {
  return TableOf(
      title, series,
      [](const BenchRecord& record) {
        return Milliseconds(MedianSeconds(record.result().passes()));
      },
      TimePoints);
}

TextTable MemoryTable(const std::string& title, const std::vector<Series>& series) {
  return TableOf(
      title, series,
      [](const BenchRecord& record) {
        const double least = static_cast<double>(record.result().minimum_bytes());
        const std::string bytes = Megabytes(BytesOf(record));
        return least > 0 ? absl::StrFormat("%s (%.2f)", bytes, BytesOf(record) / least) : bytes;
      },
      MemoryPoints);
}

TextTable CrossoverTable(const std::string& title, const std::vector<Series>& series) {
  TextTable table = {title, {"attention", "is faster than", "from N ="}, {}};
  for (const Series& slower : series) {
    for (const Series& faster : series) {
      const std::optional<double> tokens = CrossoverTokens(TimePoints(slower), TimePoints(faster));
      if (tokens)
        table.rows.push_back({faster.label, slower.label, absl::StrFormat("%.0f", *tokens)});
    }
  }
  return table;
}

TextTable ReachedTable(const std::string& title, const std::vector<Series>& series) {
  const auto cost = [](const BenchRecord& record) {
    return PassCost{record.result().operations(), record.result().moved_bytes()};
  };
  const bool is_known = std::any_of(series.begin(), series.end(), [&](const Series& one) {
    return std::any_of(one.cells.begin(), one.cells.end(), [&](const BenchRecord& record) {
      return IsMeasured(record) && cost(record).moved_bytes > 0;
    });
  });
  if (!is_known) return {};
  return TableOf(
      title, series,
      [&](const BenchRecord& record) {
        return ShareText(cost(record), MedianSeconds(record.result().passes()),
                         record.request().precision(), record.machine());
      },
      nullptr);
}

}  // namespace lra
