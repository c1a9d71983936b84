#include "tasks/pathfinder/generator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "tasks/pathfinder/canvas.h"
#include "tasks/pathfinder/contour_placer.h"
#include "tasks/pathfinder/marker.h"
#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/tables.h"

namespace lra::pathfinder {
namespace {

Tip TipAt(Point p) { return {static_cast<int16_t>(p.y), static_cast<int16_t>(p.x)}; }
Point PointAt(Tip tip) { return {tip.y, tip.x}; }

void RecordTips(const ContourPlacer& placer, PathfinderImage* image) {
  for (int i = 0; i < 2; ++i) {
    image->tips.origins[i] = TipAt(placer.origin(i));
    image->tips.terminals[i] = TipAt(placer.terminal(i));
  }
  image->ambiguous = image->tips.terminals[0] == image->tips.terminals[1];
}

// Returns the turns along the two targets. Their paddles are the first ones placed, in alternation.
std::vector<double> TurnsOf(const ContourPlacer& placer, const MarginTables& tables, int paddles) {
  std::vector<double> turns;
  for (int i = 2; i < 2 * paddles; ++i) {
    turns.push_back(TurnBetween(tables.angles_rad[placer.placed()[i].direction],
                                tables.angles_rad[placer.placed()[i - 2].direction]));
  }
  return turns;
}

}  // namespace

struct PathfinderGenerator::Tables {
  explicit Tables(const PathfinderOptions& resolved)
      : options(resolved),
        markers(resolved.side_pixels(), resolved.marker_radius_pixels(),
                resolved.antialias_scale()) {
    for (const int margin : resolved.paddle_margins_pixels())
      by_margin.emplace_back(resolved, margin);
  }

  const PathfinderOptions options;
  const absl::Status discs_show = CheckDiscsShow(options);
  const MarkerPictures markers;
  std::vector<MarginTables> by_margin;
};

PathfinderGenerator::PathfinderGenerator(std::unique_ptr<const Tables> tables)
    : tables_(std::move(tables)) {}
PathfinderGenerator::PathfinderGenerator(PathfinderGenerator&&) noexcept = default;
PathfinderGenerator& PathfinderGenerator::operator=(PathfinderGenerator&&) noexcept = default;
PathfinderGenerator::~PathfinderGenerator() = default;

const PathfinderOptions& PathfinderGenerator::options() const { return tables_->options; }

absl::StatusOr<PathfinderGenerator> PathfinderGenerator::Create(const PathfinderOptions& options) {
  LRA_ASSIGN_OR_RETURN(const PathfinderOptions resolved, ResolveOptions(options));
  auto tables = std::make_unique<const Tables>(resolved);
  for (const MarginTables& table : tables->by_margin) {
    if (std::none_of(table.first.begin(), table.first.end(),
                     [](const FirstPaddle& first) { return first.usable; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("pathfinder options: with paddle_margins_pixels ", table.margin_pixels,
                       " no paddle can begin a contour; widen the margin or paddle_length_pixels",
                       resolved.border_artifact() ? ", or set border_artifact to false" : ""));
    }
  }
  return PathfinderGenerator(std::move(tables));
}

absl::Status PathfinderGenerator::Draw(RandomStream* random, PathfinderImage* image,
                                       std::vector<double>* turns_rad) const {
  const PathfinderOptions& options = tables_->options;
  LRA_RETURN_IF_ERROR(tables_->discs_show);
  image->label = static_cast<int>(random->Below(2));
  image->marked_origin = static_cast<int>(random->Below(2));
  image->marked_terminal = image->label == 1 ? image->marked_origin : 1 - image->marked_origin;
  const MarginTables& tables =
      tables_->by_margin[random->Below(static_cast<uint32_t>(tables_->by_margin.size()))];
  image->margin_pixels = tables.margin_pixels;
  ContourPlacer placer(options, tables, random);
  image->attempts = 1;
  for (; !placer.TryTargets(); ++image->attempts) {
    if (image->attempts == kMaxAttempts) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no room for two contours of ", options.contour_paddles(), " paddles in ", kMaxAttempts,
          " attempts; lower contour_paddles, paddle_length_pixels or paddle_margins_pixels, or "
          "raise "
          "side_pixels (",
          options.side_pixels(), ")"));
    }
  }
  RecordTips(placer, image);
  DrawDistractors(&placer, image);
  Render(placer, image);
  if (turns_rad != nullptr) *turns_rad = TurnsOf(placer, tables, options.contour_paddles());
  return absl::OkStatus();
}

void PathfinderGenerator::DrawDistractors(ContourPlacer* placer, PathfinderImage* image) const {
  const PathfinderOptions& options = tables_->options;
  image->distractors = 0;
  image->distractor_attempts = 0;
  for (int i = 0; i < options.distractors(); ++i) {
    for (int attempt = 0; attempt < options.distractor_tries(); ++attempt) {
      ++image->distractor_attempts;
      if (!placer->TryDistractor()) continue;
      ++image->distractors;
      break;
    }
  }
}

void PathfinderGenerator::Render(const ContourPlacer& placer, PathfinderImage* image) const {
  Canvas canvas(tables_->options.side_pixels());
  for (const PlacedPaddle& placed : placer.placed()) {
    const Picture& line = placed.paddle->line;
    canvas.DrawPaddle(line.bytes.data(), line.rows, line.chunks * kChunkBytes,
                      placed.at + line.corner, placed.contrast);
  }
  const int reach = tables_->markers.reach(), width = 2 * reach + 1;
  for (const Tip tip :
       {image->tips.origins[image->marked_origin], image->tips.terminals[image->marked_terminal]}) {
    canvas.DrawMarker(tables_->markers.At(PointAt(tip)), width, width,
                      PointAt(tip) + Point{-reach, -reach});
  }
  canvas.Stretch(&image->pixels);
}

}  // namespace lra::pathfinder
