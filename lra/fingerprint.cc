#include "lra/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/sha256.h"

namespace lra {

// The hash covers the type's name, then for each leaf a line "<length>:<path>=<length>:<value>".
// The lengths keep paths and values with unusual characters from being confused.
std::string Fingerprint(const google::protobuf::Message& message) {
  Sha256 hash;
  hash.Update(absl::StrCat(message.GetTypeName(), "\n"));
  for (const auto& [path, value] : ComparedFields(message)) {
    hash.Update(absl::StrCat(path.size(), ":", path, "=", value.size(), ":", value, "\n"));
  }
  return ToHex(hash.Finish());
}

std::string CellFingerprint(const ExperimentConfig& config) {
  ExperimentConfig cell = config;
  cell.clear_seed();
  // The learning rate that a search found may differ between seeds, so it does not count; the
  // search's settings do.
  if (cell.has_search()) cell.mutable_schedule()->clear_learning_rate();
  // Neither do the weights of an encoder that each seed has of its own; how it was made does.
  if (cell.has_encoder_recipe()) cell.clear_encoder_weights_sha256();
  return Fingerprint(cell);
}

}  // namespace lra
