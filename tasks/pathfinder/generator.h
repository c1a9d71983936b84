// Draws Pathfinder images (Linsley et al. 2018; Kim et al. 2020) as the Long-Range Arena does: two
// long dashed contours, short distractors, a bright disc at one end of a contour and another at an
// end of the same (label 1) or of the other contour (label 0).
//
//   LRA_ASSIGN_OR_RETURN(auto generator, PathfinderGenerator::Create(options));
//   RandomStream random(seed, RandomDomain("pathfinder"), {attempt, index, 0});
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
  // Which contour has a marker at its origin, and which has one at its terminal.
  int marked_origin = 0, marked_terminal = 0;
  // Whether both contours end on the same pixel, so that nobody can tell the label.
  bool ambiguous = false;

  // How the image was made.
  int margin_pixels = 0;
  int64_t attempts = 0;  // attempts at the pair of contours, the successful one included
  int distractors = 0;   // how many of the requested distractors found room
  int64_t distractor_attempts = 0;
};

// Immutable; Draw may be called by many threads at once.
class PathfinderGenerator {
 public:
  // Errors are those of ResolveOptions, and InvalidArgument if no paddle can begin a contour.
  static absl::StatusOr<PathfinderGenerator> Create(const PathfinderOptions& options);

  PathfinderGenerator(PathfinderGenerator&&) noexcept;
  PathfinderGenerator& operator=(PathfinderGenerator&&) noexcept;
  ~PathfinderGenerator();

  // The image depends on the options and the stream only, on every machine. One stream has far more
  // numbers than an image can use. InvalidArgument if kMaxAttempts attempts found no room for two
  // contours, and the error of CheckDiscsShow. `turns_rad`, if given, receives the turns between
  // the paddles of each target.
  absl::Status Draw(RandomStream* random, PathfinderImage* image,
                    std::vector<double>* turns_rad = nullptr) const;

  // The resolved options, in which every field is set.
  const PathfinderOptions& options() const;

  // The official sizes need 1 to 4,000 attempts on average.
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
