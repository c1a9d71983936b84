// Shows examples that are images: one as characters, or many in one PNG.
#ifndef LRA_TASKS_PICTURE_H_
#define LRA_TASKS_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lra/task_spec.pb.h"

namespace lra {

// The image in at most 64 columns and half as many lines, from dark to bright " .:-=+*#%@".
// `pixels` is an example as it is stored.
std::string PictureText(const TaskSpec& spec, absl::Span<const uint16_t> pixels);

struct FramedPicture {
  std::vector<uint16_t> pixels;
  int32_t label = 0;
};

// InvalidArgument unless ContactSheetPng may hold so many.
absl::Status CheckPicturesFit(int64_t pictures);

// A PNG with the pictures in rows, enlarged to at least 64 pixels by integer factors and framed in
// the colour of their label (0 red, 1 green, then eight more). InvalidArgument unless the spec is
// of images and there are 1 to 400 of them.
absl::StatusOr<std::string> ContactSheetPng(const TaskSpec& spec,
                                            const std::vector<FramedPicture>& pictures);

}  // namespace lra

#endif  // LRA_TASKS_PICTURE_H_
