#include "eval/run_record.h"

#include <limits>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/npy.h"
#include "eval/confusion.h"
#include "eval/example_scores.h"
#include "eval/half_logits.h"
#include "eval/metric.h"
#include "eval/run_folders.h"
#include "eval/schema1.h"
#include "eval/sequences.h"
#include "eval/sums.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

absl::Status AddRun(const std::string& directory, Damaged damaged, FoundRuns* found) {
  if (IsUnfinishedRun(directory)) {
    found->unfinished.push_back(directory);
    return absl::OkStatus();
  }
  absl::StatusOr<RunRecord> record = ReadRunRecord(directory);
  if (!record.ok() && damaged == Damaged::kSetAside) {
    found->damaged.emplace_back(record.status().message());
    return absl::OkStatus();
  }
  LRA_RETURN_IF_ERROR(record.status());
  found->runs.push_back({directory, *std::move(record)});
  return absl::OkStatus();
}

// Whose values of examples are kept: accuracy stands beside every other metric, and so does that of
// sequences where they are counted.
absl::StatusOr<std::vector<const Metric*>> KeptMetrics(const Metric& own, const Sums& sums) {
  std::vector<const Metric*> kept = {&own};
  std::vector<absl::string_view> others = {kAccuracy};
  if (HasSequences(sums)) others.emplace_back(kSequenceAccuracy);
  for (const absl::string_view name : others) {
    LRA_ASSIGN_OR_RETURN(const Metric* const other, FindMetric(name));
    if (other != &own) kept.push_back(other);
  }
  return kept;
}

// Files lie in the run's own folder: whoever passes on a record must not choose what is read here.
absl::Status CheckFileName(const std::string& field, absl::string_view name) {
  const bool is_plain = !name.empty() && name != "." && name != ".." &&
                        name.find_first_of(absl::string_view("/\0", 2)) == absl::string_view::npos;
  if (is_plain) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is \"", absl::CEscape(name),
                                                 "\", must be the name of a file in the folder "
                                                 "of the record, without \"/\""));
}

absl::Status CheckFileNames(const std::string& where, const SplitResult& result) {
  // Neither is there if no predictions were kept.
  if (!result.predictions_file().empty() || !result.predictions_sha256().empty()) {
    LRA_RETURN_IF_ERROR(
        CheckFileName(absl::StrCat(where, ".predictions_file"), result.predictions_file()));
  }
  for (int i = 0; i < result.example_scores_size(); ++i) {
    LRA_RETURN_IF_ERROR(CheckFileName(absl::StrCat(where, ".example_scores[", i, "].file"),
                                      result.example_scores(i).file()));
  }
  return absl::OkStatus();
}

// Statistics demand counts that can be; a seal says only that nobody changed the file by accident.
absl::Status CheckResult(const std::string& where, const SplitResult& result) {
  const auto refuse = [&](absl::string_view field, int64_t value, absl::string_view right) {
    return absl::DataLossError(
        absl::StrCat(where, ".", field, ": is ", value, ", must be ", right));
  };
  constexpr char kCount[] = "0 to 2^48";
  constexpr int64_t kMaxCount = int64_t{1} << 48;
  const auto is_count = [](int64_t value) { return value >= 0 && value <= kMaxCount; };
  if (!is_count(result.examples())) return refuse("examples", result.examples(), kCount);
  if (!is_count(result.split_examples()))
    return refuse("split_examples", result.split_examples(), kCount);
  for (const std::string& name : NamesOf(result.sums())) {
    if (!result.sums().counts().contains(name)) continue;
    const int64_t count = CountOf(result.sums(), name);
    if (!is_count(count)) return refuse(absl::StrCat("sums.counts[", name, "]"), count, kCount);
  }
  const int64_t targets = CountOf(result.sums(), kTargets);
  for (const char* part : {kCorrect, kTokens}) {
    const int64_t count = CountOf(result.sums(), part);
    if (count <= targets) continue;
    return refuse(absl::StrCat("sums.counts[", part, "]"), count,
                  absl::StrCat("at most sums.counts[", kTargets, "], ", targets));
  }
  const int64_t sequences = CountOf(result.sums(), kSequences);
  const int64_t exact = CountOf(result.sums(), kExactSequences);
  if (sequences > result.examples())
    return refuse(absl::StrCat("sums.counts[", kSequences, "]"), sequences,
                  absl::StrCat("at most examples, ", result.examples()));
  if (exact <= sequences) return absl::OkStatus();
  return refuse(absl::StrCat("sums.counts[", kExactSequences, "]"), exact,
                absl::StrCat("at most sums.counts[", kSequences, "], ", sequences));
}

// Every scored example stands in the matrix once.
absl::Status CheckConfusion(const std::string& where, int64_t classes, const SplitResult& result) {
  if (result.confusion().empty()) return absl::OkStatus();
  int64_t examples = 0;
  for (const int64_t count : result.confusion()) {
    if (count < 0 || count > result.examples()) {
      return absl::DataLossError(absl::StrCat(where, ".confusion: has the count ", count,
                                              ", must be 0 to ", result.examples()));
    }
    examples += count;
    if (examples > result.examples()) break;  // before a sum that 64 bits do not hold
  }
  if (result.confusion_size() == classes * classes && examples == result.examples())
    return absl::OkStatus();
  const char* const or_more = examples > result.examples() ? " or more" : "";
  return absl::DataLossError(absl::StrCat(
      where, ".confusion: has ", result.confusion_size(), " counts of ", examples, " examples",
      or_more, ", must be ", classes * classes, " of ", result.examples()));
}

// Sums of costs and axes of figures demand times that can be.
absl::Status CheckSeconds(const std::string& path, const RunRecord& record) {
  constexpr double kMaxSeconds = 1e12;
  const std::pair<const char*, double> times[] = {
      {"efficiency.wall_seconds", record.efficiency().wall_seconds()},
      {"efficiency.cpu_seconds", record.efficiency().cpu_seconds()},
      {"pretrain.seconds", record.pretrain().seconds()},
      {"pretrain.cpu_seconds", record.pretrain().cpu_seconds()}};
  for (const auto& [field, seconds] : times) {
    if (seconds >= 0 && seconds <= kMaxSeconds) continue;
    return absl::DataLossError(
        absl::StrCat(path, ": ", field, ": is ", seconds, ", must be 0 to 1e12"));
  }
  return absl::OkStatus();
}

absl::Status CheckResults(const std::string& path, const RunRecord& record) {
  for (int i = 0; i < record.results_size(); ++i) {
    const std::string where = absl::StrCat(path, ": results[", i, "]");
    LRA_RETURN_IF_ERROR(CheckFileNames(where, record.results(i)));
    LRA_RETURN_IF_ERROR(CheckResult(where, record.results(i)));
    LRA_RETURN_IF_ERROR(CheckConfusion(where, record.spec().classes(), record.results(i)));
  }
  return absl::OkStatus();
}

// The bytes of one logit by the file's own header. A header that cannot be read gives no more than
// the least, so that the digest says what is wrong with the file.
int64_t LogitBytes(const std::string& path) {
  const absl::StatusOr<MappedNpy> file = MappedNpy::Open(path);
  return NpyItemBytes(file.ok() ? file->header().type : NpyType::kFloat16);
}

// The bytes of all logits of a result; the largest number where 64 bits do not hold them.
int64_t PayloadBytes(const std::string& path, const SplitResult& result, int64_t classes) {
  int64_t bytes = LogitBytes(path);
  if (__builtin_mul_overflow(bytes, result.examples(), &bytes) ||
      __builtin_mul_overflow(bytes, classes, &bytes))
    return std::numeric_limits<int64_t>::max();
  return bytes;
}

absl::Status WriteLogits(const std::string& path, const SplitPredictions& predictions) {
  const int classes = predictions.spec->classes();
  const auto examples = static_cast<int64_t>(predictions.labels.size());
  if (!predictions.half_logits) return WriteNpy(path, predictions.logits, {examples, classes});
  LRA_ASSIGN_OR_RETURN(const std::vector<Half> rounded,
                       HalfLogits(path, predictions.logits, classes));
  return WriteNpyHalf(path, rounded, {examples, classes});
}

}  // namespace

absl::Status WriteRunRecord(absl::string_view directory, RunRecord record) {
  record.set_schema_version(kRecordSchemaVersion);
  LRA_RETURN_IF_ERROR(MakeDirectories(directory));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kRecordJsonFile), ToJson(record)));
  return WriteSealedTextProto(JoinPath(directory, kRecordFile), record);
}

absl::StatusOr<RunRecord> ReadRunRecord(absl::string_view directory) {
  if (IsUnfinishedRun(std::string(directory)))
    return absl::NotFoundError(absl::StrCat(directory, ": ", kNoRecord));
  const std::string path = JoinPath(directory, kRecordFile);
  RunRecord record;
  LRA_RETURN_IF_ERROR(ReadSealedTextProto(path, &record));
  ConvertSchema1(&record);
  if (record.schema_version() != kRecordSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": schema version ", record.schema_version(),
                     "; this program reads versions 1 to ", kRecordSchemaVersion));
  }
  LRA_RETURN_IF_ERROR(CheckSeconds(path, record));
  LRA_RETURN_IF_ERROR(CheckResults(path, record));
  return record;
}

absl::StatusOr<FoundRuns> FindRunRecords(absl::Span<const std::string> paths, Damaged damaged) {
  FoundRuns found;
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> folders, FindRunFolders(paths));
  for (const std::string& folder : folders) LRA_RETURN_IF_ERROR(AddRun(folder, damaged, &found));
  if (!found.runs.empty() || !found.unfinished.empty()) return found;
  if (!found.damaged.empty()) return absl::DataLossError(found.damaged.front());
  return absl::NotFoundError(absl::StrCat("no run records below ", absl::StrJoin(paths, ", "),
                                          "; `lra train` and `lra baseline` write them"));
}

absl::Status DamagedRecords(const std::vector<std::string>& damaged, absl::string_view what) {
  if (damaged.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      damaged.size(), damaged.size() == 1 ? " record" : " records", " cannot be read and ",
      damaged.size() == 1 ? "is" : "are", " not in ", what, ": ", absl::StrJoin(damaged, "; ")));
}

absl::Status CheckPredictions(absl::string_view directory, const RunRecord& record) {
  for (const SplitResult& result : record.results()) {
    if (result.predictions_file().empty()) continue;
    const std::string path = JoinPath(directory, result.predictions_file());
    if (!FileExists(path))
      return absl::DataLossError(absl::StrCat(path, ": is missing; the record names it"));
    LRA_ASSIGN_OR_RETURN(const int64_t size, FileSizeBytes(path));
    const int64_t payload = PayloadBytes(path, result, record.spec().classes());
    if (size <= payload) {
      return absl::DataLossError(absl::StrCat(path, ": has ", size, " bytes; ", result.examples(),
                                              " x ", record.spec().classes(),
                                              " logits need more than ", payload));
    }
    LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
    if (ToHex(digest) == result.predictions_sha256()) continue;
    return absl::DataLossError(absl::StrCat(path, ": was changed: SHA-256 is ", ToHex(digest),
                                            ", the record says ", result.predictions_sha256()));
  }
  return absl::OkStatus();
}

absl::StatusOr<SplitResult> StoreScores(absl::string_view directory, const SplitScores& scores) {
  LRA_ASSIGN_OR_RETURN(const Metric* metric, MetricOf(*scores.spec));
  LRA_RETURN_IF_ERROR(MakeDirectories(directory));
  SplitResult result;
  result.set_split(scores.split);
  result.set_examples(scores.examples);
  *result.mutable_sums() = scores.sums->Total();
  result.set_step(scores.step);
  result.set_checkpoint(scores.checkpoint);
  LRA_ASSIGN_OR_RETURN(const std::vector<const Metric*> kept, KeptMetrics(*metric, result.sums()));
  LRA_RETURN_IF_ERROR(StoreExampleScores(directory, scores.file, kept, *scores.sums, &result));
  return result;
}

absl::StatusOr<SplitResult> StorePredictions(absl::string_view directory,
                                             const SplitPredictions& predictions) {
  const int classes = predictions.spec->classes();
  LRA_ASSIGN_OR_RETURN(const Metric* metric, MetricOf(*predictions.spec));
  LRA_ASSIGN_OR_RETURN(const ExampleSums sums,
                       ScoreGuesses(*metric, {predictions.logits, predictions.labels, classes}));
  const std::string path = JoinPath(directory, predictions.file);
  LRA_RETURN_IF_ERROR(MakeDirectories(directory));
  LRA_RETURN_IF_ERROR(WriteLogits(path, predictions));
  LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
  LRA_ASSIGN_OR_RETURN(
      SplitResult result,
      StoreScores(directory, {.split = predictions.split,
                              .file = predictions.file,
                              .sums = &sums,
                              .examples = static_cast<int64_t>(predictions.labels.size()),
                              .spec = predictions.spec,
                              .step = predictions.step,
                              .checkpoint = predictions.checkpoint}));
  result.set_predictions_file(predictions.file);
  result.set_predictions_sha256(ToHex(digest));
  const auto confusion = CountConfusion(predictions.logits, predictions.labels, classes);
  result.mutable_confusion()->Assign(confusion.begin(), confusion.end());
  return result;
}

const SplitResult* FindResult(const RunRecord& record, absl::string_view split) {
  for (const SplitResult& result : record.results()) {
    if (result.split() == split && result.checkpoint() != kLastCheckpoint) return &result;
  }
  return nullptr;
}

}  // namespace lra
