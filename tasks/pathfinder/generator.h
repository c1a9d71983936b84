// Draws Pathfinder images (Linsley et al. 2018; Kim et al. 2020) as the Long-Range Arena does: two
// long dashed contours, short distractors, a bright disc at one end of a contour and another at an
// end of the same (label 1) or of the other contour (label 0).
//
//   LRA_ASSIGN_OR_RETURN(auto generator, PathfinderGenerator::Create(options));
//   RandomStream random(seed, RandomDomain::kPathfinder, {attempt, index, 0});
//   LRA_RETURN_IF_ERROR(generator.Draw(&random, &image));
#ifndef LRA_TASKS_PATHFINDER_GENERATOR_H_
#define LRA_TASKS_PATHFINDER_GENERATOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lra/random.h"
#include "tasks/pathfinder/pathfinder.pb.h"
#include "tasks/pathfinder/tip.h"

namespace lra::pathfinder {

class ContourPlacer;

struct PathfinderImage {
  std::vector<uint8_t> pixels;  // side^2, row-major, 0 .. 255
  int label = 0;                // 1: both markers are on one contour
  ContourTips tips;
  // Which contour's origin and which contour's terminal carry a marker.
  int marked_origin = 0, marked_terminal = 0;
  // Both contours end on the same pixel: nobody can tell the label.
  bool ambiguous = false;

  // How it came about.
  int margin_pixels = 0;
  int64_t attempts = 0;  // at the pair of contours, the last one included
  int distractors = 0;   // of those requested
  int64_t distractor_attempts = 0;
};

// Immutable; Draw may be called by many threads at once.
class PathfinderGenerator {
 public:
  // Errors: those of ResolveOptions, and InvalidArgument if no paddle can begin a contour.
  static absl::StatusOr<PathfinderGenerator> Create(const PathfinderOptions& options);

  PathfinderGenerator(PathfinderGenerator&&) noexcept;
  PathfinderGenerator& operator=(PathfinderGenerator&&) noexcept;
  ~PathfinderGenerator();

  // Depends on the options and the stream only, on all machines alike; one stream is far more than
  // an image can use. InvalidArgument if kMaxAttempts attempts found no room for two contours.
  // `turns_rad`, if given, receives the turn of every paddle of the targets but the first ones.
  absl::Status Draw(RandomStream* random, PathfinderImage* image,
                    std::vector<double>* turns_rad = nullptr) const;

  // Resolved: every field is set.
  const PathfinderOptions& options() const;

  // The official sizes need 1 to 4,000 in the mean.
  static constexpr int64_t kMaxAttempts = 1 << 22;

 private:
  struct Tables;
  explicit PathfinderGenerator(std::unique_ptr<const Tables> tables);
  void DrawDistractors(ContourPlacer* placer, PathfinderImage* image) const;
  void Render(const ContourPlacer& placer, PathfinderImage* image) const;

  std::unique_ptr<const Tables> tables_;
};

}  // namespace lra::pathfinder

#endif  // LRA_TASKS_PATHFINDER_GENERATOR_H_
