#include "datasets/example.h"

#include <array>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

absl::Status CheckLength(const TaskSpec& spec, int64_t length) {
  if (length == 0) return absl::InvalidArgumentError("has no tokens");
  if (IsImage(spec) && length != spec.max_length_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", length, " pixel values, not ", spec.max_length_tokens()));
  }
  if (length <= spec.max_length_tokens()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has ", length, " tokens; at most ", spec.max_length_tokens(), " are allowed"));
}

absl::Status CheckTokens(const TaskSpec& spec, const std::vector<uint16_t>& tokens) {
  LRA_RETURN_IF_ERROR(CheckLength(spec, static_cast<int64_t>(tokens.size())));
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < SmallestStored(spec) || tokens[i] >= spec.vocabulary_size()) {
      return absl::InvalidArgumentError(absl::StrCat("token ", i, " has id ", tokens[i],
                                                     "; ids are ", SmallestStored(spec), " to ",
                                                     spec.vocabulary_size() - 1));
    }
  }
  return absl::OkStatus();
}

absl::string_view BytesOf(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

absl::Status CheckExample(const TaskSpec& spec, const EncodedExample& example) {
  LRA_RETURN_IF_ERROR(CheckTokens(spec, example.tokens));
  if (spec.is_pair()) LRA_RETURN_IF_ERROR(CheckTokens(spec, example.tokens_b));
  if (example.label < 0 || example.label >= spec.classes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has label ", example.label, "; labels are 0 to ", spec.classes() - 1));
  }
  return absl::OkStatus();
}

ExampleDigest ExampleHasher::Hash(absl::Span<const absl::Span<const uint16_t>> columns,
                                  int32_t label, absl::Span<const int16_t> extra) {
  ExampleDigest digest;
  std::array<char, 2 * 32> inputs;
  size_t size_bytes = 0;
  for (absl::Span<const uint16_t> column : columns) {
    hash_.Update(column.data(), column.size() * sizeof(uint16_t));
    digest.input = hash_.Finish();
    digest.documents[size_bytes == 0 ? 0 : 1] = digest.input;
    std::memcpy(inputs.data() + size_bytes, digest.input.data(), digest.input.size());
    size_bytes += digest.input.size();
  }
  if (columns.size() > 1) {
    hash_.Update(inputs.data(), size_bytes);
    digest.input = hash_.Finish();
  }
  hash_.Update(inputs.data(), size_bytes);
  hash_.Update(&label, sizeof(label));
  if (prompt_place_ >= 0) {
    LRA_CHECK(prompt_place_ < static_cast<int64_t>(extra.size())) << extra.size();
    hash_.Update(&extra[prompt_place_], sizeof(extra[prompt_place_]));
  }
  digest.example = hash_.Finish();
  digest.label = label;
  return digest;
}

ExampleDigest ExampleHasher::Hash(const TaskSpec& spec, const EncodedExample& example) {
  const std::array<absl::Span<const uint16_t>, 2> columns = {example.tokens, example.tokens_b};
  return Hash(absl::MakeConstSpan(columns.data(), spec.is_pair() ? 2 : 1), example.label,
              example.extra);
}

InputKey ToInputKey(const Sha256Digest& input) {
  uint64_t words[2];
  std::memcpy(words, BytesOf(input).data(), sizeof(words));
  return absl::MakeUint128(words[0], words[1]);
}

}  // namespace lra
