// Reads and writes tensors in the safetensors format (github.com/huggingface/safetensors): an
// 8-byte little-endian header length, a JSON header padded with spaces to a multiple of 8, and raw
// little-endian bytes. Python reads such a file in one line.
#ifndef LRA_MODELS_BASE_SAFETENSORS_H_
#define LRA_MODELS_BASE_SAFETENSORS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

struct SafetensorsFile {
  // The tensors in the order of their bytes in the file. They are on the CPU and own their memory.
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes `path` atomically, tensors in the given order, and returns the SHA-256 of the file in
// hexadecimal. The same tensors and metadata give the same bytes. Tensors may be strided and on any
// device. InvalidArgument for an undefined tensor, an element type that the format (or this writer)
// lacks, an empty or repeated name, and the reserved name "__metadata__".
absl::StatusOr<std::string> WriteSafetensors(
    absl::string_view path, const std::vector<std::pair<std::string, at::Tensor>>& tensors,
    const std::map<std::string, std::string>& metadata);

// Returns the SHA-256, in hexadecimal, of all bytes of these tensors in the given order: of what
// stands behind the header of the file that WriteSafetensors() makes of them.
std::string TensorsSha256(const std::vector<std::pair<std::string, at::Tensor>>& tensors);

// Reads strictly: every byte after the header belongs to exactly one tensor. DataLoss, naming file
// and tensor, for anything that a correct writer does not produce, and for more than 250,000 names
// of tensors and metadata together; NotFound for a missing file. Takes time proportional to the
// file's size (times the logarithm of the number of names).
absl::StatusOr<SafetensorsFile> ReadSafetensors(absl::string_view path);
// Does the same for the bytes of a file; `where` names it in errors.
absl::StatusOr<SafetensorsFile> ParseSafetensors(absl::string_view where, absl::string_view bytes);

}  // namespace lra

#endif  // LRA_MODELS_BASE_SAFETENSORS_H_
