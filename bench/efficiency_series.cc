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

int64_t PlaceOf(const BenchRecord& record, Axis axis) {
  return axis == Axis::kTokens ? record.request().tokens() : record.request().head_width();
}

// One length and several widths are curves over the width; streams are told apart by N alone.
Axis AxisOf(const std::vector<BenchRecord>& records) {
  std::set<int64_t> lengths, widths;
  for (const BenchRecord& record : records) {
    if (record.request().mode() == BenchRequest::STREAMING) return Axis::kTokens;
    lengths.insert(record.request().tokens());
    widths.insert(record.request().head_width());
  }
  return lengths.size() == 1 && widths.size() > 1 ? Axis::kHeadWidth : Axis::kTokens;
}

void AddCell(const BenchRecord& record, Series* series) {
  std::vector<BenchRecord>& cells = series->cells;
  const int64_t at = PlaceOf(record, series->axis);
  auto place = std::find_if(cells.begin(), cells.end(), [&](const BenchRecord& other) {
    return PlaceOf(other, series->axis) >= at;
  });
  if (place != cells.end() && PlaceOf(*place, series->axis) == at) {
    *place = record;
  } else {
    cells.insert(place, record);
  }
}

// What cells of a series have in common.
std::string KeyAlong(Axis axis, BenchRecord record) {
  if (axis == Axis::kHeadWidth) record.mutable_request()->clear_head_width();
  return SeriesKey(record);
}

std::string PanelKey(const Series& series) {
  BenchRecord record = series.cells.front();
  record.mutable_request()->clear_attention();
  record.mutable_request()->clear_options();
  record.mutable_request()->clear_causal();
  return KeyAlong(series.axis, std::move(record));
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

// What stays the same along the axis.
std::string ShapeText(const BenchRequest& request, Axis axis) {
  return axis == Axis::kTokens
             ? absl::StrFormat("%d heads of width %d", request.heads(), request.head_width())
             : absl::StrFormat("N = %d, %d heads of width D", request.tokens(), request.heads());
}

std::string TitleOf(const BenchRecord& record, Axis axis) {
  const BenchRequest& request = record.request();
  std::string title =
      absl::StrFormat("%s: %s, %s", ModeText(request), record.regime(), ShapeText(request, axis));
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

std::vector<int64_t> PlacesOf(const std::vector<Series>& series) {
  std::set<int64_t> places;
  for (const Series& one : series) {
    for (const BenchRecord& record : one.cells) places.insert(PlaceOf(record, one.axis));
  }
  return {places.begin(), places.end()};
}

std::string PlaceText(int64_t place, Axis axis) {
  if (axis == Axis::kHeadWidth) return absl::StrCat("D = ", place);
  return place % 1024 == 0 ? absl::StrCat(place / 1024, "K") : absl::StrCat(place);
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
  const std::vector<int64_t> places = PlacesOf(series);
  for (const int64_t place : places) table.header.push_back(PlaceText(place, series.front().axis));
  if (points) table.header.push_back("exponent");
  for (const Series& one : series) {
    std::map<int64_t, std::string> cells;
    for (const BenchRecord& record : one.cells) {
      cells[PlaceOf(record, one.axis)] =
          IsMeasured(record) ? text(record) : OutcomeText(record.result());
    }
    std::vector<std::string> row = {one.label};
    for (const int64_t place : places) row.push_back(cells.count(place) > 0 ? cells[place] : "");
    if (points) row.push_back(ExponentText(points(one)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

const char* AxisName(Axis axis) { return axis == Axis::kTokens ? "N" : "D"; }

std::vector<Series> GroupSeries(const std::vector<BenchRecord>& records) {
  const Axis axis = AxisOf(records);
  std::vector<Series> all;
  std::map<std::string, size_t> places;
  for (const BenchRecord& record : records) {
    const auto [place, is_new] = places.emplace(KeyAlong(axis, record), all.size());
    if (is_new) all.push_back({MethodLabel(record.request()), {}, axis});
    AddCell(record, &all[place->second]);
  }
  return all;
}

std::vector<Panel> GroupPanels(const std::vector<BenchRecord>& records) {
  std::vector<Panel> panels;
  std::map<std::string, size_t> places;
  for (Series& series : GroupSeries(records)) {
    const auto [place, is_new] = places.emplace(PanelKey(series), panels.size());
    if (is_new) panels.push_back({TitleOf(series.cells.front(), series.axis), {}});
    panels[place->second].series.push_back(std::move(series));
  }
  return panels;
}

std::vector<LengthPoint> TimePoints(const Series& series) {
  std::vector<LengthPoint> points;
  for (const BenchRecord& record : series.cells) {
    if (IsMeasured(record))
      points.push_back(
          {double(PlaceOf(record, series.axis)), MedianSeconds(record.result().passes())});
  }
  return points;
}

std::vector<LengthPoint> MemoryPoints(const Series& series) {
  std::vector<LengthPoint> points;
  for (const BenchRecord& record : series.cells) {
    if (IsMeasured(record) && BytesOf(record) > 0)
      points.push_back({double(PlaceOf(record, series.axis)), BytesOf(record)});
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
  const char* axis = AxisName(series.front().axis);
  TextTable table = {title, {"attention", "is faster than", absl::StrCat("from ", axis, " =")}, {}};
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
