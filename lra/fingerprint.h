// Fingerprints of messages: SHA-256 over their set fields, walked by reflection. (Neither
// SerializeAsString nor DebugString is canonical.) Fields marked (lra.is_volatile) are left out,
// and so are those that hold their (lra.legacy_value); Any is expanded; map entries are sorted.
#ifndef LRA_FINGERPRINT_H_
#define LRA_FINGERPRINT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lra/config.pb.h"

namespace lra {

// 64 hexadecimal digits. Equal for equal content, whatever order it was built in.
std::string Fingerprint(const google::protobuf::Message& message);
// Fingerprint of the experiment without its seed, without the learning rate that a search found,
// and without the weights of an encoder that is the seed's own (encoder_recipe). Runs that share it
// are repeats of one cell of a table.
std::string CellFingerprint(const ExperimentConfig& config);

// The beginning of a fingerprint (or of another SHA-256) by which names and messages tell a few
// apart. Folders of runs are found by it.
inline std::string ShortFingerprint(absl::string_view fingerprint) {
  constexpr size_t kDigits = 8;
  return std::string(fingerprint.substr(0, kDigits));
}

}  // namespace lra

#endif  // LRA_FINGERPRINT_H_
