// A run's learning curve as a TensorBoard event file: RUN/tensorboard/events.out.tfevents.*.
//
//   tensorboard --logdir runs
//
// A pure function of the curve: an event's wall time is its step, in seconds, so that a run that
// was killed and resumed leaves the same bytes as an undisturbed one. (TensorBoard's axis "step" is
// the one to read; "relative" and "wall" count steps too.)
#ifndef LRA_TRAIN_TENSORBOARD_H_
#define LRA_TRAIN_TENSORBOARD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

// TensorBoard finds files by the part "tfevents".
inline constexpr char kTensorBoardFile[] = "tensorboard/events.out.tfevents.0000000000.lra";

// CRC-32C (Castagnoli) as RFC 3720 has it: of "123456789" it is 0xE3069283.
uint32_t Crc32c(absl::string_view bytes);

// `data` framed as TFRecord has it (tensorflow/core/lib/io/record_writer.h): its length as uint64,
// the masked CRC-32C of those 8 bytes, data, the masked CRC-32C of data; little-endian.
std::string TfRecord(absl::string_view data);

// The record that an event file begins with.
std::string TensorBoardHeader();

// The record of a point: train/loss, train/accuracy, learning_rate, gradient_norm, and where they
// were looked at validation/loss, validation/accuracy.
std::string TensorBoardRecord(const CurvePoint& point);

}  // namespace lra

#endif  // LRA_TRAIN_TENSORBOARD_H_
