#include "eval/verify_files.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/npy.h"
#include "eval/confusion.h"
#include "eval/example_scores.h"
#include "eval/metric.h"
#include "eval/run_folders.h"
#include "eval/run_record.h"
#include "eval/sequences.h"
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

// `source` is what gives the sums anew.
void VerifySums(const std::string& where, const SplitResult& result, const Sums& anew,
                absl::string_view source, bool is_half, Verification* verification) {
  const auto add = [&](absl::string_view kind, absl::string_view name, const std::string& held,
                       const std::string& right) {
    verification->changes.push_back(
        absl::StrCat(where, ".sums.", kind, "[", name, "]: is ", held, ", ", source, " ", right));
  };
  for (const auto& [name, count] : anew.counts()) {
    // Older records do not count sequences.
    const bool is_later = name == kSequences || name == kExactSequences;
    if (is_later && !HasSum(result.sums(), name)) continue;
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

void VerifyConfusion(const std::string& where, const SplitResult& result,
                     absl::Span<const int64_t> anew, int classes, Verification* verification) {
  const auto held = absl::MakeConstSpan(result.confusion());
  if (held.empty()) return;  // of an older record
  const auto [is, right] = std::mismatch(held.begin(), held.end(), anew.begin(), anew.end());
  if (is == held.end() || right == anew.end()) return;
  const int64_t cell = is - held.begin();
  verification->changes.push_back(absl::StrCat(
      where, ".confusion[", cell, "] (label ", cell / classes, ", guess ", cell % classes, "): is ",
      *is, ", ", result.predictions_file(), " and the labels give ", *right));
}

// "; examples 16 to 23: byte 130 is ..., expected ..."; empty where nothing differs.
std::string PlaceInScores(const std::string& path, const std::string& expected,
                          bool is_proportion) {
  const auto bytes = ReadFile(path, static_cast<int64_t>(expected.size()));
  if (!bytes.ok()) return absl::StrCat("; ", bytes.status().message());
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

// "; example 16: holds 0.5, expected 0.25"; empty where nothing differs by more than rounding.
std::string PlaceInValues(const std::string& path, const ExampleValues& expected) {
  const absl::StatusOr<MappedNpy> file = MappedNpy::Open(path);
  if (!file.ok()) return absl::StrCat("; ", file.status().message());
  const NpyHeader& header = file->header();
  const auto examples = static_cast<int64_t>(expected.size());
  if (header.type != NpyType::kFloat64 || header.values != examples) {
    return absl::StrCat("; holds ", header.values, " values ", NpyDescr(header.type), ", expected ",
                        examples, " of ", NpyDescr(NpyType::kFloat64));
  }
  const absl::Span<const double> held = file->values<double>();
  for (int64_t i = 0; i < examples; ++i) {
    if (std::abs(held[i] - expected[i]) <= kTotalRounding * std::max(1.0, std::abs(expected[i])))
      continue;
    return absl::StrFormat("; example %d: holds %.17g, expected %.17g", i, held[i], expected[i]);
  }
  return "";
}

// A file whose digest is the record's: both may have been made anew.
void VerifyValues(const std::string& path, const ExampleValues& expected, bool is_proportion,
                  bool is_half, Verification* verification) {
  if (is_half && !is_proportion) return;  // the values are those of float32
  const std::string place = is_proportion
                                ? PlaceInScores(path, EncodeExampleScores(expected, true), true)
                                : PlaceInValues(path, expected);
  if (place.empty()) return;
  verification->changes.push_back(
      absl::StrCat(path, ": is not what the predictions and the labels give", place));
}

// A file of scores of examples.
struct ScoresFile {
  std::string path;
  const Metric* metric = nullptr;         // null: this program has none of that name
  const ExampleValues* values = nullptr;  // that predictions and labels give; null: not known
};

// Returns whether all that it holds was made anew by the checkpoint, bit for bit.
bool VerifyIntactScores(const ScoresFile& file, const std::string& directory,
                        const SplitResult& result, const KnownPredictions& known,
                        Verification* verification) {
  if (file.values != nullptr) {
    VerifyValues(file.path, *file.values, file.metric->traits().is_proportion, known.is_half,
                 verification);
  }
  if (known.remade == nullptr || file.metric == nullptr) return false;
  const auto held = ReadExampleScores(directory, result, *file.metric);
  if (!held.ok()) verification->changes.emplace_back(held.status().message());
  if (!held.ok() || !*held) return false;
  return CompareTokenScores(file.path, {*file.metric, result, **held}, *known.remade,
                            known.rounding, verification);
}

// What of a changed file differs; begins with "; ". Empty where that is not known.
std::string PlaceOfChange(const ScoresFile& file, const SplitResult& result,
                          const KnownPredictions& known) {
  if (file.metric == nullptr) return "";
  const bool is_proportion = file.metric->traits().is_proportion;
  if (file.values != nullptr) {
    return PlaceInScores(file.path, EncodeExampleScores(*file.values, is_proportion),
                         is_proportion);
  }
  if (known.remade == nullptr) return "";
  const auto held = DecodeExampleScores(file.path, result.examples(), is_proportion);
  if (!held.ok()) return absl::StrCat("; ", held.status().message());
  return PlaceInTokenScores({*file.metric, result, *held}, *known.remade, known.rounding);
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
  if (absl::IsNotFound(digest.status())) {  // removed a moment ago
    verification->missing_files.push_back(path);
    return FileState::kMissing;
  }
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
  const std::string where = absl::StrCat(JoinPath(directory, kRecordFile), ": results of ",
                                         result.split(), " (", result.checkpoint(), ")");
  std::optional<ExampleSums> anew;
  if (own.ok()) anew = ScoreAgain(**own, record, known);
  if (anew) {
    const int classes = record.spec().classes();
    VerifySums(where, result, anew->Total(),
               absl::StrCat(result.predictions_file(), " and the labels give"), known.is_half,
               verification);
    VerifyConfusion(where, result, CountConfusion(known.logits, known.labels, classes), classes,
                    verification);
  }
  bool is_remade = false;
  for (const ExampleScores& scores : result.example_scores()) {
    const absl::StatusOr<const Metric*> metric = FindMetric(scores.metric());
    std::optional<ExampleValues> values;
    if (anew && metric.ok()) values = (*metric)->ValuesOf(*anew);
    const ScoresFile file{JoinPath(directory, scores.file()), metric.ok() ? *metric : nullptr,
                          values ? &*values : nullptr};
    std::string problem;
    const FileState state = VerifyDigest(file.path, scores.sha256(), verification, &problem);
    if (state == FileState::kIntact) {
      // Other metrics than the record's own may be the same where its totals are rounded otherwise.
      const bool is_own = own.ok() && scores.metric() == (*own)->name();
      const bool is_same = VerifyIntactScores(file, directory, result, known, verification);
      is_remade = is_remade || (is_own && is_same);
    }
    if (state == FileState::kChanged)
      verification->changes.push_back(problem + PlaceOfChange(file, result, known));
  }
  if (is_remade)
    VerifySums(where, result, known.remade->sums.Total(), "the checkpoint gives",
               /*is_half=*/false, verification);
}

}  // namespace lra
