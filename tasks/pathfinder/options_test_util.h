// The official options, written out for tests.
#ifndef LRA_TASKS_PATHFINDER_OPTIONS_TEST_UTIL_H_
#define LRA_TASKS_PATHFINDER_OPTIONS_TEST_UTIL_H_

#include "tasks/pathfinder/paddle_stamp.h"
#include "tasks/pathfinder/pathfinder.pb.h"

namespace lra::pathfinder {

inline void SetSizes(int padding, int seed_distance, double marker_radius, double contour_contrast,
                     double continuity, int length, double thickness, PathfinderOptions* options) {
  options->set_padding_pixels(padding);
  options->set_seed_distance_pixels(seed_distance);
  options->set_marker_radius_pixels(marker_radius);
  options->add_contour_contrasts(contour_contrast);
  options->add_paddle_contrasts(length == 2 ? 0.75 : 1);
  options->set_continuity(continuity);
  options->set_paddle_length_pixels(length);
  options->set_paddle_thickness_pixels(thickness);
}

// The options of google-research/long-range-arena for sides of 32, 64, 128 and 256 pixels.
inline PathfinderOptions OfficialOptions(
    int side, PathfinderOptions::Difficulty difficulty = PathfinderOptions::HARD) {
  PathfinderOptions options;
  options.set_difficulty(difficulty);
  options.set_side_pixels(side);
  options.set_antialias_scale(2);
  if (side == 32) SetSizes(1, 7, 1.5, 2, 1, 2, 0.5, &options);
  if (side == 64) SetSizes(1, 12, 2.5, 0.8, 1.8, 5, 1, &options);
  if (side == 128) SetSizes(1, 20, 3, 0.9, 1.8, 5, 1.5, &options);
  if (side == 256) SetSizes(22, 27, 5, 1, 1.8, 5, 2, &options);
  if (side <= 64) options.add_paddle_margins_pixels(1);
  if (side == 128) options.add_paddle_margins_pixels(2);
  if (side >= 128) options.add_paddle_margins_pixels(3);
  options.set_paddle_tries(3);
  options.set_distractor_tries(5);
  options.set_min_free_fraction(0.01);
  options.set_collision_limit(1.8);
  options.set_free_threshold(0.3);
  options.set_border_artifact(true);
  options.set_images(200000);
  return options;
}

// The shape of the paddles at that side.
inline PaddleShape OfficialShape(int side, int margin) {
  const PathfinderOptions options = OfficialOptions(side);
  return {options.paddle_length_pixels(), options.paddle_thickness_pixels(), margin,
          options.antialias_scale()};
}

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_OPTIONS_TEST_UTIL_H_
