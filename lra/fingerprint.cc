#include "lra/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/sha256.h"

namespace lra {

// Hashed: the type's name, then for each leaf a line "<length>:<path>=<length>:<value>". Lengths
// keep apart what a path or a value with strange characters could run together.
std::string Fingerprint(const google::protobuf::Message& message) {
  Sha256 hash;
  hash.Update(absl::StrCat(message.GetTypeName(), "\n"));
  for (const auto& [path, value] : LeafFields(message)) {
    hash.Update(absl::StrCat(path.size(), ":", path, "=", value.size(), ":", value, "\n"));
  }
  return ToHex(hash.Finish());
}

std::string ShortFingerprint(const google::protobuf::Message& message) {
  return Fingerprint(message).substr(0, 12);
}

std::string CellFingerprint(const ExperimentConfig& config) {
  ExperimentConfig cell = config;
  cell.clear_seed();
  // A search's outcome may differ between seeds; what was searched is the cell's.
  if (cell.has_search()) cell.mutable_schedule()->clear_learning_rate();
  return Fingerprint(cell);
}

}  // namespace lra
