#include "run_folder/tensorboard.h"

#include <boost/crc.hpp>
#include <map>

#include "eval/curve_values.h"
#include "lra/check.h"
#include "run_folder/tensorboard.pb.h"

namespace lra {
namespace {

template <class Integer>
std::string LittleEndian(Integer value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

// Masks a CRC, so that the CRC of data that contains CRCs is not misleading (TFRecord's rule).
uint32_t Mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

void Add(const std::string& tag, double value, TensorBoardSummary* summary) {
  TensorBoardScalar& scalar = *summary->add_value();
  scalar.set_tag(tag);
  scalar.set_simple_value(static_cast<float>(value));
}

// Sorted by name.
void AddValues(const std::string& prefix, const MetricValues& values, TensorBoardSummary* summary) {
  for (const auto& [name, value] : std::map<std::string, double>(values.begin(), values.end()))
    Add(prefix + name, value, summary);
}

std::string Framed(const TensorBoardEvent& event) {
  std::string bytes;
  LRA_CHECK(event.SerializeToString(&bytes));
  return TfRecord(bytes);
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string TfRecord(absl::string_view data) {
  std::string record = LittleEndian(uint64_t{data.size()});
  record += LittleEndian(Mask(Crc32c(record)));
  record.append(data.data(), data.size());
  return record + LittleEndian(Mask(Crc32c(data)));
}

std::string TensorBoardHeader() {
  TensorBoardEvent event;
  event.set_file_version("brain.Event:2");
  return Framed(event);
}

std::string TensorBoardRecord(const CurvePoint& point) {
  TensorBoardEvent event;
  event.set_wall_time(static_cast<double>(point.step()));
  event.set_step(point.step());
  TensorBoardSummary* summary = event.mutable_summary();
  Add("train/loss", point.train_loss(), summary);
  AddValues("train/", point.train(), summary);
  Add("learning_rate", point.learning_rate(), summary);
  Add("gradient_norm", point.gradient_norm(), summary);
  if (point.has_validation_loss()) Add("validation/loss", point.validation_loss(), summary);
  AddValues("validation/", point.validation(), summary);
  AddValues("learned/", point.learned(), summary);
  return Framed(event);
}

}  // namespace lra
