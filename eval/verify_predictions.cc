#include "eval/verify_predictions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/npy.h"
#include "eval/half_logits.h"
#include "eval/prediction_file.h"
#include "lra/byte_difference.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

template <class T>
absl::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// What the file would hold, of float32 or float16; nullopt for logits that float16 cannot hold.
std::optional<std::string> FileBytes(const std::vector<float>& logits, int classes, bool is_half) {
  const auto examples = static_cast<int64_t>(logits.size()) / classes;
  const std::string header =
      FormatNpyHeader(is_half ? NpyType::kFloat16 : NpyType::kFloat32, {examples, classes});
  if (!is_half) return absl::StrCat(header, BytesOf(logits));
  const auto rounded = HalfLogits("", logits, classes);
  if (!rounded.ok()) return std::nullopt;
  return absl::StrCat(header, BytesOf(*rounded));
}

// The logits that one would read from the file.
std::vector<float> AsStored(std::vector<float> logits, int classes, bool is_half) {
  if (!is_half) return logits;
  const auto rounded = HalfLogits("", logits, classes);
  if (!rounded.ok()) return logits;
  return {rounded->begin(), rounded->end()};
}

std::string RowText(absl::Span<const float> row) {
  constexpr size_t kShown = 10;
  return absl::StrCat("(", absl::StrJoin(row.subspan(0, kShown), ", "),
                      row.size() > kShown ? ", ..." : "", ")");
}

std::string ExampleText(int64_t example, absl::Span<const float> stored,
                        absl::Span<const float> anew) {
  return absl::StrCat("example ", example, ": holds ", RowText(stored), ", the checkpoint gives ",
                      RowText(anew));
}

// Where the digest says that `expected` is what was stored.
std::string PlaceOfByte(const std::string& path, const std::string& expected, int classes,
                        bool is_half) {
  const auto bytes = ReadFile(path, static_cast<int64_t>(expected.size()));
  if (!bytes.ok()) return absl::StrCat("; ", bytes.status().message());
  const auto difference = FirstDifference(*bytes, expected);
  const auto header = ParseNpyHeader(expected, path);
  if (!difference || !header.ok()) return "";
  const int64_t at = difference->offset_bytes - header->data_offset_bytes;
  if (at < 0) return absl::StrCat("; its header: ", DescribeBytes(*difference));
  const int64_t logit = at / NpyItemBytes(is_half ? NpyType::kFloat16 : NpyType::kFloat32);
  return absl::StrCat("; example ", logit / classes, ", class ", logit % classes, ": ",
                      DescribeBytes(*difference));
}

bool IsChange(PredictionMatch match) {
  return match == PredictionMatch::kMoved || match == PredictionMatch::kOtherGuess;
}

std::string PlaceOfExample(const LogitsOfFile& stored, const std::vector<float>& anew, int classes,
                           double rounding) {
  if (stored.logits.size() != anew.size()) {
    return absl::StrCat("; holds ", stored.logits.size(), " logits, the checkpoint gives ",
                        anew.size());
  }
  for (size_t i = 0; i * classes < stored.logits.size(); ++i) {
    const auto held = absl::MakeConstSpan(stored.logits).subspan(i * classes, classes);
    const auto made = absl::MakeConstSpan(anew).subspan(i * classes, classes);
    const PredictionMatch match = MatchPrediction(held, made, rounding);
    if (IsChange(match))
      return absl::StrCat("; ", ExampleText(static_cast<int64_t>(i), held, made));
  }
  return "; no logit differs from the checkpoint's by more than rounding, which is not the same "
         "here as where the run was scored: the byte cannot be told";
}

}  // namespace

absl::StatusOr<LogitsOfFile> ReadLogitsFile(const std::string& path, const SplitResult& result,
                                            const TaskSpec& spec) {
  LRA_ASSIGN_OR_RETURN(
      ExternalPredictions read,
      ReadPredictions({path},
                      {.spec = spec, .name = result.split(), .examples = result.examples()}));
  LRA_ASSIGN_OR_RETURN(const MappedNpy file, MappedNpy::Open(path));
  return LogitsOfFile{std::move(read.logits), file.header().type == NpyType::kFloat16};
}

void ComparePredictions(const std::string& path, const LogitsOfFile& stored,
                        const SampledLogits& remade, int classes, double rounding,
                        Verification* verification) {
  const std::vector<float> anew = AsStored(remade.logits, classes, stored.is_half);
  constexpr int64_t kNamed = 10;
  const int64_t examples = static_cast<int64_t>(stored.logits.size()) / classes;
  int64_t changed = 0;
  const auto change = [&](const std::string& what) {
    if (++changed <= kNamed) verification->changes.push_back(absl::StrCat(path, ": ", what));
  };
  for (size_t i = 0; i < remade.examples.size(); ++i) {
    const int64_t example = remade.examples[i];
    if (example >= examples) {
      change(absl::StrCat("example ", example, ": is not among the ", examples, " that it holds"));
      continue;
    }
    const auto held = absl::MakeConstSpan(stored.logits).subspan(example * classes, classes);
    const auto made = absl::MakeConstSpan(anew).subspan(i * classes, classes);
    const PredictionMatch match = MatchPrediction(held, made, rounding);
    verification->predictions.Add(match);
    if (IsChange(match)) change(ExampleText(example, held, made));
  }
  if (changed > kNamed) {
    verification->changes.push_back(
        absl::StrCat(path, ": ", changed - kNamed, " more examples differ like these"));
  }
}

std::string PlaceInPredictions(const std::string& path, const SplitResult& result,
                               absl::Span<const float> logits, const TaskSpec& spec,
                               double rounding) {
  const int classes = spec.classes();
  const std::vector<float> anew(logits.begin(), logits.end());
  for (const bool is_half : {false, true}) {
    const std::optional<std::string> expected = FileBytes(anew, classes, is_half);
    if (expected && Sha256Hex(*expected) == result.predictions_sha256())
      return PlaceOfByte(path, *expected, classes, is_half);
  }
  const absl::StatusOr<LogitsOfFile> stored = ReadLogitsFile(path, result, spec);
  if (!stored.ok()) return absl::StrCat("; ", stored.status().message());
  return PlaceOfExample(*stored, AsStored(anew, classes, stored->is_half), classes, rounding);
}

}  // namespace lra
