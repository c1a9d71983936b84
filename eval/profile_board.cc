#include "eval/profile_board.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "eval/crossed.h"
#include "eval/leaderboard_internal.h"
#include "eval/profile.h"
#include "eval/published.h"
#include "eval/row_statistics.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// The mean of these values of each run, and its interval. `places` are the examples' in the split
// where they are not its first.
ProfileCell MakeCell(const ProfileGroup& group, std::vector<ExampleValues> runs, double confidence,
                     absl::Span<const int64_t> places = {}) {
  ProfileCell cell;
  if (runs.empty() || runs.front().empty()) return cell;
  RowRuns row{group.metric, static_cast<int64_t>(runs.front().size()), {}, group.block_examples};
  for (ExampleValues& values : runs) {
    const double mean = Mean(values);
    row.runs.push_back({mean, std::make_shared<const ExampleValues>(std::move(values))});
  }
  cell.examples = row.examples;
  const std::optional<RowEstimate> estimate = EstimateRow(row, places);
  cell.value = estimate->estimate.mean;
  cell.interval = RowInterval(row, *estimate, confidence);
  return cell;
}

ProfileCell WholeOf(const ProfiledRow& row, const ProfileGroup& group, double confidence) {
  std::vector<ExampleValues> runs;
  for (const auto& scores : row.scores)
    runs.emplace_back(scores->begin(), scores->begin() + row.examples());
  return MakeCell(group, std::move(runs), confidence);
}

std::vector<ProfileCell> StratumCells(const ProfiledRow& row, const Strata& strata,
                                      const ProfileGroup& group, double confidence) {
  std::vector<ProfileCell> cells;
  for (size_t s = 0; s < strata.names.size(); ++s) {
    std::vector<ExampleValues> runs(row.scores.size());
    std::vector<int64_t> places;
    for (int64_t i = 0; i < row.examples(); ++i) {
      if (strata.of[i] != static_cast<int>(s)) continue;
      places.push_back(i);
      for (size_t r = 0; r < runs.size(); ++r) runs[r].push_back((*row.scores[r])[i]);
    }
    cells.push_back(MakeCell(group, std::move(runs), confidence, places));
  }
  return cells;
}

// Empty unless every run of the row was seen under the circumstances.
std::vector<ProfileCell> CircumstanceCells(const ProfiledRow& row, const Circumstances& seen,
                                           const ProfileGroup& group, double confidence) {
  std::vector<ProfileCell> cells;
  for (size_t c = 0; c < seen.names.size(); ++c) {
    std::vector<ExampleValues> runs;
    for (const LocatedRecord* run : row.runs) {
      const auto of = seen.of.find(run->directory);
      if (of == seen.of.end()) return {};
      runs.push_back(of->second[c]);
    }
    cells.push_back(MakeCell(group, std::move(runs), confidence));
  }
  return cells;
}

// The baselines of the group, the worst first, as they are sorted.
std::vector<LadderStep> LadderOf(const ProfileGroup& group, double confidence) {
  std::vector<LadderStep> ladder;
  if (group.settings.front().kind != RunRecord::BASELINE) return ladder;
  for (const ProfiledRow& row : group.settings.front().rows)
    ladder.push_back({row.label, *WholeOf(row, group, confidence).value});
  return ladder;
}

ProfileHeading HeadingOf(const Strata& strata, int64_t examples) {
  ProfileHeading heading{strata.name, strata.definition, strata.names,
                         std::vector<int64_t>(strata.names.size())};
  for (int64_t i = 0; i < examples; ++i) ++heading.examples[strata.of[i]];
  return heading;
}

ProfileHeading HeadingOf(const Circumstances& seen) {
  const int64_t examples =
      seen.of.empty() ? 0 : static_cast<int64_t>(seen.of.begin()->second.front().size());
  return {seen.name, seen.definition, seen.names, std::vector<int64_t>(seen.names.size(), examples),
          /*is_ordered=*/false};
}

// The difference of two means of equally many examples each scatters by so much more than one mean.
const double kTwoSamples = std::sqrt(2.0);

// Numbers in print of the group's task, where they are in its metric.
std::vector<PublishedPlace> PlacesOf(const PublishedTable& table, const ProfileBoard& board,
                                     const std::vector<LadderStep>& ladder) {
  const ProfileGroup& group = *board.group;
  std::vector<PublishedPlace> places;
  const bool is_what_is_printed = group.split == "test" && group.data->data().is_canonical();
  if (ladder.empty() || !is_what_is_printed || !group.metric->traits().is_proportion) return places;
  for (const PublishedRow& row : table.rows()) {
    const PublishedCell* const cell =
        FindCell(table, row, group.task, group.metric->name(), group.split);
    if (cell == nullptr || !cell->has_value() || cell->is_failed()) continue;
    const double value = cell->value() / group.metric->traits().scale;
    const int64_t right = std::llround(value * static_cast<double>(board.examples));
    // Each of their examples by itself, also where neighbours depend on each other: the widest that
    // a count allows, blocks all right or all wrong, would leave no place to tell.
    const Interval own = ProportionInterval(EstimateOfCounts({right}, board.examples),
                                            board.examples, board.confidence);
    // Their examples are not ours: a bar, too, is known to so many of ours only.
    const Interval interval{value - kTwoSamples * (value - own.low),
                            value + kTwoSamples * (own.high - value)};
    places.push_back({row.label(), value, PlaceOnLadder(*group.metric, value, interval, ladder)});
  }
  absl::c_stable_sort(places, [&](const PublishedPlace& a, const PublishedPlace& b) {
    return group.metric->Better(a.value, b.value);
  });
  return places;
}

absl::Status CheckStrata(const ProfileGroup& group, absl::Span<const Strata> strata) {
  for (const Strata& one : strata) {
    for (const ProfiledSetting& setting : group.settings) {
      for (const ProfiledRow& row : setting.rows) {
        if (row.examples() <= static_cast<int64_t>(one.of.size())) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("profile: ", row.runs.front()->directory, " has ", row.examples(),
                         " scores, and ", one.name, " is known of ", one.of.size(), " examples"));
      }
    }
  }
  return absl::OkStatus();
}

ProfileBoardRow MakeBoardRow(const ProfiledRow& row, const ProfileBoard& board,
                             const ProfileSources& sources, const std::vector<LadderStep>& ladder) {
  const ProfileGroup& group = *board.group;
  ProfileBoardRow shown{&row, WholeOf(row, group, board.confidence), "", {}};
  if (!ladder.empty() && row.kind != RunRecord::BASELINE)
    shown.place = PlaceOnLadder(*group.metric, *shown.whole.value, shown.whole.interval, ladder);
  for (const Strata& strata : sources.strata)
    shown.cells.push_back(StratumCells(row, strata, group, board.confidence));
  for (const Circumstances& seen : sources.circumstances)
    shown.cells.push_back(CircumstanceCells(row, seen, group, board.confidence));
  return shown;
}

}  // namespace

absl::StatusOr<ProfileBoard> MakeProfileBoard(const ProfileGroup& group,
                                              const ProfileSources& sources, double confidence) {
  LRA_RETURN_IF_ERROR(CheckStrata(group, sources.strata));
  ProfileBoard board;
  board.group = &group;
  board.confidence = confidence;
  for (const ProfiledSetting& setting : group.settings) {
    for (const ProfiledRow& row : setting.rows)
      board.examples = std::max(board.examples, row.examples());
  }
  for (const Strata& strata : sources.strata)
    board.headings.push_back(HeadingOf(strata, board.examples));
  for (const Circumstances& seen : sources.circumstances) board.headings.push_back(HeadingOf(seen));
  const std::vector<LadderStep> ladder = LadderOf(group, confidence);
  for (const ProfiledSetting& setting : group.settings) {
    std::vector<ProfileBoardRow>& rows = board.rows.emplace_back();
    for (const ProfiledRow& row : setting.rows)
      rows.push_back(MakeBoardRow(row, board, sources, ladder));
  }
  for (const PublishedTable& table :
       internal::ShownPublished({sources.published.begin(), sources.published.end()})) {
    std::vector<PublishedPlace> places = PlacesOf(table, board, ladder);
    if (!places.empty()) board.published.emplace_back(table.name(), std::move(places));
  }
  return board;
}

}  // namespace lra
