#include "datasets/token_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "datasets/id_content.h"

namespace lra {
namespace {

constexpr int32_t kFirstByteId = 1, kBytes = 256;  // 0 is padding

}  // namespace

std::string TokenText(const TaskSpec& spec, int32_t id) {
  if (id >= 0 && id < spec.token_names_size()) return spec.token_names(id);
  if (id >= 0 && id == MaskId(spec)) return "<mask>";
  if (spec.content() != TaskSpec::TEXT || id < kFirstByteId) return "";
  const int32_t byte = id - kFirstByteId;
  if (byte >= kBytes) return "<eos>";
  const auto character = static_cast<unsigned char>(byte);
  if (character == ' ') return "_";
  if (absl::ascii_isgraph(character)) return std::string(1, static_cast<char>(character));
  return absl::StrFormat("\\x%02x", byte);
}

}  // namespace lra
