#include "eval/external_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "eval/machine.h"
#include "eval/metric.h"
#include "eval/row_record.h"
#include "eval/run_interval.h"
#include "eval/run_record.h"
#include "eval/score_text.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kMaxNameLength = 64;
constexpr double kWarnedConfidence = 0.95;

absl::Status CheckName(const std::string& name, const std::vector<std::string>& taken) {
  const bool is_plain = !name.empty() && name.size() <= kMaxNameLength &&
                        absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                        });
  if (!is_plain) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--name \"", name, "\": should be 1 to ", kMaxNameLength,
        " letters, digits, - _ or ., the first a letter or digit: it names a folder and a row"));
  }
  if (std::find(taken.begin(), taken.end(), name) == taken.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--name \"", name,
                   "\" is an attention or a baseline of this program; a row of other code "
                   "needs a name of its own, e.g. my_",
                   name));
}

std::string Describe(const ExternalRun& run, bool only_labels) {
  return absl::StrCat(run.description.empty() ? "predictions of other code" : run.description,
                      only_labels ? " (classes only: no loss)" : "");
}

// Begins a warning about a split.
std::string WarningPrefix(const std::string& split) { return absl::StrCat(split, " "); }

// Empty unless the score is not above that of the majority class by more than chance. Rows in
// another order than the data set's look like that, and nothing else shows it.
absl::StatusOr<std::string> MisorderWarning(absl::string_view directory, const ExternalRun& run,
                                            const SplitResult& result) {
  LRA_ASSIGN_OR_RETURN(const Metric* const accuracy, FindMetric(kAccuracy));
  if (!HasSum(result.sums(), kCorrect) || run.labels.empty()) return "";
  std::vector<int64_t> counts(run.spec.classes());
  for (const int32_t label : run.labels) ++counts[label];
  const double majority = static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
                          static_cast<double>(run.labels.size());
  const std::string& task = run.data.task();
  LRA_ASSIGN_OR_RETURN(const std::optional<RunInterval> interval,
                       ReadRunInterval(directory, task, result, *accuracy, kWarnedConfidence));
  if (!interval || interval->interval.low > majority) return "";
  LRA_ASSIGN_OR_RETURN(const std::string score,
                       DescribeScoreWithInterval(*accuracy, result, {std::string(directory), task},
                                                 kWarnedConfidence));
  return absl::StrCat(WarningPrefix(run.split), "accuracy ", score,
                      " is not above the majority class, ", accuracy->Text(majority),
                      ", and no index says which example a row is about: rows in another order "
                      "than the data set's score like this; give --index FILE with the original "
                      "index of each row (`lra data export` lists them)");
}

// Empty unless a folder beside this one has the predictions as those of another seed of the row, on
// the same data.
std::string RepeatWarning(absl::string_view directory, const ExternalRun& run,
                          const SplitResult& result) {
  namespace fs = std::filesystem;
  const fs::path own = AbsolutePath(directory);
  std::error_code error;  // what cannot be listed holds no run
  std::set<std::string> folders;
  for (fs::directory_iterator it(own.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name != own.filename().string() && absl::StrContains(name, run.name)) folders.insert(name);
  }
  const std::string data = Fingerprint(run.data);
  for (const std::string& folder : folders) {
    const absl::StatusOr<RunRecord> other = ReadRunRecord((own.parent_path() / folder).string());
    if (!other.ok() || other->kind() != RunRecord::EXTERNAL || other->method() != run.name ||
        other->seed() == run.seed || Fingerprint(other->data()) != data)
      continue;
    const SplitResult* const same = FindResult(*other, run.split);
    if (same == nullptr || same->predictions_sha256() != result.predictions_sha256()) continue;
    return absl::StrCat(WarningPrefix(run.split), "predictions are those of seed ", other->seed(),
                        " in ", folder, " beside it, bit for bit: ",
                        SamePredictions(*same, result)
                            ? "tables count one run"
                            : "if they are of one run, tables count it twice");
  }
  return "";
}

// Classes without probabilities have no loss, nor has any example.
void ForgetTotals(SplitResult* result) {
  for (auto& [name, total] : *result->mutable_sums()->mutable_totals())
    total = std::numeric_limits<double>::quiet_NaN();
  auto* scores = result->mutable_example_scores();
  for (int i = scores->size() - 1; i >= 0; --i) {
    const auto metric = FindMetric(scores->Get(i).metric());
    if (!metric.ok() || !std::isfinite((*metric)->Value(result->sums())))
      scores->erase(scores->begin() + i);
  }
}

absl::Status CheckSameRow(absl::string_view directory, const RunRecord& previous,
                          const RunRecord& record) {
  if (previous.method() == record.method() && previous.seed() == record.seed())
    return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(directory, ": holds the external row ",
                                               previous.method(), ", seed ", previous.seed(),
                                               "; choose another --out"));
}

// A stored label is no token: one that is guessed right would count as all of them.
absl::Status CheckHasLabels(const ExternalRun& run) {
  if (!run.spec.guesses_tokens()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "task ", run.spec.name(),
      ": its tokens are guessed (view.target=", DataView::Target_Name(run.view.target()),
      "), and predictions of other code are one label an example: there is nothing to score"));
}

}  // namespace

bool SamePredictions(const SplitResult& a, const SplitResult& b) {
  return !a.predictions_sha256().empty() && a.predictions_sha256() == b.predictions_sha256() &&
         HasSum(a.sums(), kNats) && std::isfinite(TotalOf(a.sums(), kNats)) &&
         HasSum(b.sums(), kNats) && std::isfinite(TotalOf(b.sums(), kNats));
}

absl::StatusOr<ExternalRun> OpenExternalRun(const ExternalRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(request.data_dir));
  ExternalRun run;
  LRA_ASSIGN_OR_RETURN(run.view, LoadView(manifest.spec().name(), request.view.protocol,
                                          request.view.preset, request.view.sets));
  LRA_ASSIGN_OR_RETURN(
      const Dataset data,
      Dataset::Open(request.data_dir,
                    {.splits = {request.split}, .view = &run.view, .threads = request.threads}));
  LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, request.split, run.view));
  run.data = IdentifyData(data.manifest(), run.view);
  run.spec = split.spec();
  LRA_RETURN_IF_ERROR(CheckHasLabels(run));
  run.split = request.split;
  run.labels = Labels(split);
  run.indices = StoredIndices(split);
  run.unix_seconds = UnixSeconds();
  return run;
}

std::string ExternalDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name, uint32_t seed) {
  return absl::StrCat(runs, "/external-", name, "-", task,
                      seed == 0 ? "" : absl::StrCat("-s", seed));
}

absl::StatusOr<RunRecord> WriteExternalRecord(absl::string_view directory, const ExternalRun& run) {
  LRA_RETURN_IF_ERROR(CheckName(run.name, run.taken_names));
  LRA_ASSIGN_OR_RETURN(
      const ExternalPredictions predictions,
      ReadPredictions(run.files, {.spec = run.spec,
                                  .name = run.split,
                                  .examples = static_cast<int64_t>(run.labels.size()),
                                  .indices = run.indices}));
  const RowIdentity row{RunRecord::EXTERNAL,
                        run.name,
                        Describe(run, predictions.only_labels),
                        run.data,
                        run.spec,
                        run.command_line,
                        run.unix_seconds};
  LRA_ASSIGN_OR_RETURN(const std::optional<RunRecord> previous, ReplaceableRecord(directory, row));
  ExperimentConfig config;
  config.set_task(run.data.task());
  *config.mutable_view() = run.view;
  config.set_seed(run.seed);
  RunRecord record = MakeRowRecord(row, std::move(config));
  record.set_seed(run.seed);
  if (previous) LRA_RETURN_IF_ERROR(CheckSameRow(directory, *previous, record));
  LRA_ASSIGN_OR_RETURN(
      SplitResult result,
      StoreRowSplit(directory, {run.split, predictions.logits, run.labels}, run.spec));
  if (!predictions.has_index) {
    LRA_ASSIGN_OR_RETURN(std::string warning, MisorderWarning(directory, run, result));
    if (!warning.empty()) record.add_warning(std::move(warning));
  }
  if (predictions.only_labels) ForgetTotals(&result);
  if (std::string warning = RepeatWarning(directory, run, result); !warning.empty())
    record.add_warning(std::move(warning));
  *record.add_results() = result;
  bool is_known = false;
  if (previous) {
    *record.mutable_test_looks() = previous->test_looks();
    for (const std::string& warning : previous->warning()) {
      if (!absl::StartsWith(warning, WarningPrefix(run.split))) record.add_warning(warning);
    }
    for (const SplitResult& other : previous->results()) {
      if (other.split() != run.split) *record.add_results() = other;
      is_known |=
          other.split() == run.split && other.predictions_sha256() == result.predictions_sha256();
    }
  }
  if (run.split == "test" && !is_known) AddTestLook(row, &record);
  LRA_RETURN_IF_ERROR(WriteRunRecord(directory, record));
  return ReadRunRecord(directory);
}

}  // namespace lra
