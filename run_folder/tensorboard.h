// A run's learning curve as a TensorBoard event file, RUN/tensorboard/events.out.tfevents.*.
//
//   tensorboard --logdir runs
//
// The file is a function of the curve alone: the wall time of an event is its step in seconds, so
// that a run that was killed and resumed leaves the same bytes as an undisturbed one. (Read
// TensorBoard's axis "step"; "relative" and "wall" count steps too.)
#ifndef LRA_RUN_FOLDER_TENSORBOARD_H_
#define LRA_RUN_FOLDER_TENSORBOARD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

// TensorBoard recognises its files by "tfevents" in their name.
inline constexpr char kTensorBoardFile[] = "tensorboard/events.out.tfevents.0000000000.lra";

// CRC-32C (Castagnoli) as defined by RFC 3720; of "123456789" it is 0xE3069283.
uint32_t Crc32c(absl::string_view bytes);

// Frames `data` as a TFRecord (tensorflow/core/lib/io/record_writer.h): its length as uint64, the
// masked CRC-32C of those 8 bytes, the data, the masked CRC-32C of the data; little-endian.
std::string TfRecord(absl::string_view data);

// The first record of an event file.
std::string TensorBoardHeader();

// The record of a point, with the tags "train/loss", learning_rate, gradient_norm, one such as
// "train/accuracy" for each metric and, where validation was scored, "validation/loss" and the
// metrics of validation.
std::string TensorBoardRecord(const CurvePoint& point);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_TENSORBOARD_H_
