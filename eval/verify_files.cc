#include "eval/verify_files.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/npy.h"
#include "eval/example_scores.h"
#include "eval/metric.h"
#include "eval/run_folders.h"
#include "eval/run_record.h"
#include "lra/byte_difference.h"
#include "lra/files.h"
#include "lra/sealed_text.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// Totals are added in one order everywhere; exp and log of another machine may round differently.
constexpr double kTotalRounding = 1e-9;

// "; line 5: byte 412 is ..., expected ...": where the record differs from what its twin says.
std::string PlaceFromTwin(const std::string& directory) {
  const auto json = ReadFile(JoinPath(directory, kRecordJsonFile), kMaxTextProtoBytes);
  const auto text = ReadFile(JoinPath(directory, kRecordFile), kMaxTextProtoBytes);
  RunRecord twin;
  if (!json.ok() || !text.ok() || !ParseJson(*json, kRecordJsonFile, &twin).ok()) return "";
  const auto difference = FirstDifference(*text, SealedText(twin));
  if (!difference) return "";
  return absl::StrCat("; by ", kRecordJsonFile, ", line ", difference->line, ": ",
                      DescribeBytes(*difference));
}

void VerifyTwin(const std::string& directory, Verification* verification) {
  const std::string path = JoinPath(directory, kRecordJsonFile);
  if (!FileExists(path)) {
    verification->missing_files.push_back(kRecordJsonFile);
    return;
  }
  RunRecord raw;  // as it was written, of whatever schema
  const auto json = ReadFile(path, kMaxTextProtoBytes);
  if (!json.ok() || !ReadSealedTextProto(JoinPath(directory, kRecordFile), &raw).ok()) {
    verification->changes.push_back(absl::StrCat(path, ": cannot be read"));
    return;
  }
  const auto difference = FirstDifference(*json, ToJson(raw));
  if (!difference) {
    ++verification->intact_files;
    return;
  }
  verification->changes.push_back(absl::StrCat(path, ": was changed: by ", kRecordFile, ", line ",
                                               difference->line, ": ", DescribeBytes(*difference)));
}

// The sums that the predictions give; nullopt where they cannot be scored.
std::optional<ExampleSums> ScoreAgain(const Metric& metric, const RunRecord& record,
                                      const KnownPredictions& known) {
  if (known.logits.empty() || known.labels.empty()) return std::nullopt;
  auto sums = ScoreGuesses(metric, {known.logits, known.labels, record.spec().classes()});
  if (!sums.ok()) return std::nullopt;
  return *std::move(sums);
}

void VerifySums(const std::string& where, const SplitResult& result, const Sums& anew, bool is_half,
                Verification* verification) {
  const auto add = [&](absl::string_view kind, absl::string_view name, const std::string& held,
                       const std::string& right) {
    verification->changes.push_back(absl::StrCat(where, ".sums.", kind, "[", name, "]: is ", held,
                                                 ", ", result.predictions_file(),
                                                 " and the labels give ", right));
  };
  for (const auto& [name, count] : anew.counts()) {
    const int64_t held = CountOf(result.sums(), name);
    if (held != count) add("counts", name, absl::StrCat(held), absl::StrCat(count));
  }
  for (const auto& [name, total] : anew.totals()) {
    const double held = TotalOf(result.sums(), name);
    if (is_half || std::isnan(held)) continue;  // of float32, or not known
    if (std::abs(held - total) > kTotalRounding * std::max(1.0, std::abs(total)))
      add("totals", name, absl::StrFormat("%.17g", held), absl::StrFormat("%.17g", total));
  }
}

// "; byte 130 (examples 16 to 23) is ..., expected ...".
std::string PlaceInScores(const std::string& path, const std::string& expected,
                          bool is_proportion) {
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) return "";
  const auto difference = FirstDifference(*bytes, expected);
  if (!difference) return "";
  const auto header = ParseNpyHeader(expected, path);
  const int64_t at = difference->offset_bytes - (header.ok() ? header->data_offset_bytes : 0);
  const std::string examples =
      at < 0          ? "its header"
      : is_proportion ? absl::StrCat("examples ", 8 * at, " to ", 8 * at + 7)
                      : absl::StrCat("example ", at / static_cast<int64_t>(sizeof(double)));
  return absl::StrCat("; ", examples, ": ", DescribeBytes(*difference));
}

}  // namespace

std::optional<RunRecord> VerifyRecord(const std::string& directory, Verification* verification) {
  absl::StatusOr<RunRecord> record = ReadRunRecord(directory);
  if (!record.ok()) {
    verification->changes.push_back(
        absl::StrCat(record.status().message(), PlaceFromTwin(directory)));
    return std::nullopt;
  }
  ++verification->intact_files;
  VerifyTwin(directory, verification);
  return *std::move(record);
}

FileState VerifyDigest(const std::string& path, absl::string_view sha256,
                       Verification* verification, std::string* problem) {
  if (!FileExists(path)) {
    verification->missing_files.push_back(path);
    return FileState::kMissing;
  }
  const absl::StatusOr<Sha256Digest> digest = HashFile(path);
  if (digest.ok() && ToHex(*digest) == sha256) {
    ++verification->intact_files;
    return FileState::kIntact;
  }
  *problem = digest.ok() ? absl::StrCat(path, ": was changed: SHA-256 is ", ToHex(*digest),
                                        ", must be ", sha256)
                         : std::string(digest.status().message());
  return FileState::kChanged;
}

void VerifyScores(const std::string& directory, const RunRecord& record, const SplitResult& result,
                  const KnownPredictions& known, Verification* verification) {
  const absl::StatusOr<const Metric*> own = MetricOf(record.spec());
  std::optional<ExampleSums> anew;
  if (own.ok()) anew = ScoreAgain(**own, record, known);
  if (anew) {
    VerifySums(absl::StrCat(JoinPath(directory, kRecordFile), ": results of ", result.split(), " (",
                            result.checkpoint(), ")"),
               result, anew->Total(), known.is_half, verification);
  }
  for (const ExampleScores& scores : result.example_scores()) {
    const std::string path = JoinPath(directory, scores.file());
    std::string problem;
    if (VerifyDigest(path, scores.sha256(), verification, &problem) != FileState::kChanged)
      continue;
    const absl::StatusOr<const Metric*> metric = FindMetric(scores.metric());
    const auto values = anew && metric.ok() ? (*metric)->ValuesOf(*anew) : std::nullopt;
    if (values) {
      const bool is_proportion = (*metric)->traits().is_proportion;
      problem += PlaceInScores(path, EncodeExampleScores(*values, is_proportion), is_proportion);
    }
    verification->changes.push_back(problem);
  }
}

}  // namespace lra
