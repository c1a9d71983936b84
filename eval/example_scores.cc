#include "eval/example_scores.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "datasets/npy.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kPredictionsStem[] = "predictions";

std::string PackBits(const ExampleValues& values) {
  std::string bytes((values.size() + 7) / 8, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 0x80 >> i % 8);
  }
  return bytes;
}

absl::Status CheckDigest(const std::string& path, const ExampleScores& scores) {
  LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
  if (ToHex(digest) == scores.sha256()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": was changed: SHA-256 is ", ToHex(digest),
                                          ", the record says ", scores.sha256()));
}

absl::Status CheckMean(const std::string& path, const ExampleValues& values, double expected) {
  const double mean = Mean(values);
  if (std::abs(mean - expected) <= 1e-9 * std::max(1.0, std::abs(expected)))
    return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": the mean of its values is ", mean,
                                          ", the record's sums give ", expected));
}

// Those of a file that is there.
absl::StatusOr<ExampleValues> ReadStored(const std::string& path, const ExampleScores& scores,
                                         const SplitResult& result, const Metric& metric) {
  LRA_RETURN_IF_ERROR(CheckDigest(path, scores));
  LRA_ASSIGN_OR_RETURN(ExampleValues values,
                       DecodeExampleScores(path, result.examples(), metric.traits().is_proportion));
  LRA_RETURN_IF_ERROR(CheckMean(path, values, metric.Value(result.sums())));
  return values;
}

}  // namespace

std::string ExampleScoresFile(absl::string_view metric, absl::string_view predictions_file) {
  if (absl::ConsumePrefix(&predictions_file, kPredictionsStem))
    return absl::StrCat(metric, predictions_file);
  return absl::StrCat(metric, "-", predictions_file);
}

std::string EncodeExampleScores(const ExampleValues& values, bool is_proportion) {
  if (is_proportion) {
    const std::string bits = PackBits(values);
    return absl::StrCat(FormatNpyHeader(NpyType::kUint8, {static_cast<int64_t>(bits.size())}),
                        bits);
  }
  return absl::StrCat(FormatNpyHeader(NpyType::kFloat64, {static_cast<int64_t>(values.size())}),
                      absl::string_view(reinterpret_cast<const char*>(values.data()),
                                        values.size() * sizeof(double)));
}

absl::StatusOr<ExampleValues> DecodeExampleScores(const std::string& path, int64_t examples,
                                                  bool is_proportion) {
  LRA_ASSIGN_OR_RETURN(const MappedNpy file, MappedNpy::Open(path));
  const NpyType type = is_proportion ? NpyType::kUint8 : NpyType::kFloat64;
  const int64_t values = is_proportion ? (examples + 7) / 8 : examples;
  if (file.header().type != type || file.header().values != values) {
    return absl::DataLossError(absl::StrCat(path, ": holds ", file.header().values, " values ",
                                            NpyDescr(file.header().type), "; ", examples,
                                            " examples need ", values, " of ", NpyDescr(type)));
  }
  if (!is_proportion) {
    const absl::Span<const double> stored = file.values<double>();
    return ExampleValues(stored.begin(), stored.end());
  }
  const absl::Span<const uint8_t> bytes = file.values<uint8_t>();
  ExampleValues bits(examples);
  for (int64_t i = 0; i < examples; ++i) bits[i] = bytes[i / 8] >> (7 - i % 8) & 1;
  return bits;
}

absl::Status StoreExampleScores(absl::string_view directory, absl::string_view predictions_file,
                                absl::Span<const Metric* const> metrics, const ExampleSums& sums,
                                SplitResult* result) {
  for (const Metric* metric : metrics) {
    const std::optional<ExampleValues> values = metric->ValuesOf(sums);
    if (!values) continue;
    const std::string file = ExampleScoresFile(metric->name(), predictions_file);
    const std::string path = JoinPath(directory, file);
    LRA_RETURN_IF_ERROR(
        WriteFileAtomically(path, EncodeExampleScores(*values, metric->traits().is_proportion)));
    LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
    ExampleScores* scores = result->add_example_scores();
    scores->set_metric(metric->name());
    scores->set_file(file);
    scores->set_sha256(ToHex(digest));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ExampleValues>> ReadExampleScores(absl::string_view directory,
                                                               const SplitResult& result,
                                                               const Metric& metric) {
  const ExampleScores* like = nullptr;
  for (const ExampleScores& scores : result.example_scores()) {
    const std::string path = JoinPath(directory, scores.file());
    if (!FileExists(path)) continue;
    if (scores.metric() == metric.name()) return ReadStored(path, scores, result, metric);
    const auto other = FindMetric(scores.metric());
    if (other.ok() && metric.ValuesFrom(**other, {}, result.sums())) like = &scores;
  }
  if (like == nullptr) return std::optional<ExampleValues>();
  const Metric& other = **FindMetric(like->metric());
  LRA_ASSIGN_OR_RETURN(const ExampleValues values,
                       ReadStored(JoinPath(directory, like->file()), *like, result, other));
  return metric.ValuesFrom(other, values, result.sums());
}

}  // namespace lra
