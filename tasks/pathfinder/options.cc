#include "tasks/pathfinder/options.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/status_macros.h"

namespace lra::pathfinder {
namespace {

constexpr size_t kMaxListed = 16;
constexpr int kMaxMarginPixels = 8;
constexpr double kMaxContrast = 100;

template <class... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat("pathfinder options: ", args...));
}

// The number of dashes that google-research/long-range-arena divides among the distractors, by
// image side. (Its comments write "/", which rounds down in Python 2, the language of the original
// program.)
const std::map<int, int>& DistractorDashes() {
  static const auto* const dashes =
      new std::map<int, int>{{32, 20}, {64, 22}, {128, 35}, {256, 30}};
  return *dashes;
}

absl::Status FillInFromDifficulty(PathfinderOptions* options) {
  if (!options->has_contour_paddles()) {
    constexpr int kPaddles[] = {0, 6, 9, 14};  // indexed by Difficulty
    const int paddles = kPaddles[options->difficulty()];
    if (paddles == 0) return Invalid("set difficulty or contour_paddles");
    options->set_contour_paddles(paddles);
  }
  if (!options->has_distractor_paddles()) {
    options->set_distractor_paddles(std::max(1, options->contour_paddles() / 3));
  }
  if (!options->has_distractors()) {
    if (!options->has_side_pixels()) return Invalid("not set: side_pixels");
    const auto dashes = DistractorDashes().find(options->side_pixels());
    if (dashes == DistractorDashes().end()) {
      return Invalid(
          "set distractors; the default is known for side_pixels 32, 64, 128 and 256, not ",
          options->side_pixels());
    }
    options->set_distractors(dashes->second / options->distractor_paddles());
  }
  return absl::OkStatus();
}

template <class Value>
absl::Status CheckList(absl::string_view name, const google::protobuf::RepeatedField<Value>& values,
                       Value least, Value most) {
  if (values.empty() || static_cast<size_t>(values.size()) > kMaxListed) {
    return Invalid(name, " has ", values.size(), " values; give 1 to ", kMaxListed);
  }
  for (const Value value : values) {
    if (!(value >= least && value <= most)) {
      return Invalid(name, " holds ", value, "; a value is from ", least, " to ", most);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const PathfinderOptions& options) {
  const double canvas_thickness = options.paddle_thickness_pixels() * options.antialias_scale();
  if (canvas_thickness < 1 || canvas_thickness != std::floor(canvas_thickness)) {
    return Invalid("paddle_thickness_pixels ", options.paddle_thickness_pixels(),
                   " times antialias_scale ", options.antialias_scale(), " is ", canvas_thickness,
                   "; it must be a whole number from 1");
  }
  // The first paddle keeps twice the seed distance from the border.
  if (4 * options.seed_distance_pixels() >= options.side_pixels()) {
    return Invalid("seed_distance_pixels ", options.seed_distance_pixels(),
                   " leaves no room in the middle of an image of side_pixels ",
                   options.side_pixels(), "; it must be below a quarter of it");
  }
  if (4 * options.padding_pixels() >= options.side_pixels()) {
    return Invalid("padding_pixels ", options.padding_pixels(),
                   " leaves no room in an image of side_pixels ", options.side_pixels(),
                   "; it must be below a quarter of it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PathfinderOptions> ResolveOptions(const PathfinderOptions& options) {
  PathfinderOptions resolved = options;
  LRA_RETURN_IF_ERROR(Annotate(CheckRanges(options), "pathfinder options"));
  LRA_RETURN_IF_ERROR(FillInFromDifficulty(&resolved));
  std::vector<std::string> unset = UnsetFields(resolved);
  std::erase(unset, "difficulty");  // contour_paddles was set in its place
  if (!unset.empty()) {
    return Invalid("not set: ", absl::StrJoin(unset, ", "));
  }
  LRA_RETURN_IF_ERROR(
      CheckList("contour_contrasts", resolved.contour_contrasts(), 0.01, kMaxContrast));
  LRA_RETURN_IF_ERROR(
      CheckList("paddle_contrasts", resolved.paddle_contrasts(), 0.01, kMaxContrast));
  LRA_RETURN_IF_ERROR(
      CheckList("paddle_margins_pixels", resolved.paddle_margins_pixels(), 1, kMaxMarginPixels));
  LRA_RETURN_IF_ERROR(CheckTogether(resolved));
  return resolved;
}

// An end without a disc looks as if it had one where lines cover all of its place as brightly as
// the disc would. So a line may be as bright as a disc where it covers a pixel, and a thick one
// less. `verify` accepted sets of 200,000 pictures of 32 x 32 pixels at these limits, with several
// radii and thicknesses; of sets a fifth above them some have discs that it does not find.
absl::Status CheckDiscsShow(const PathfinderOptions& options) {
  const auto largest = [](const google::protobuf::RepeatedField<double>& values) {
    return *std::max_element(values.begin(), values.end());
  };
  const double contrast =  // that of distractors has no factor of the paddle
      largest(options.contour_contrasts()) * std::max(1.0, largest(options.paddle_contrasts()));
  const double thickness = options.paddle_thickness_pixels();
  const double most =
      std::min(1 / std::min(1.0, thickness), 2 * options.marker_radius_pixels() / (3 * thickness));
  if (contrast <= most * (1 + 1e-9)) return absl::OkStatus();
  return Invalid("contour_contrasts and paddle_contrasts make lines of contrast ", contrast,
                 " beside discs of 1, which would hide some discs; with paddle_thickness_pixels ",
                 thickness, " and marker_radius_pixels ", options.marker_radius_pixels(), ", ",
                 most, " is possible");
}

}  // namespace lra::pathfinder
