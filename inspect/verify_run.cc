#include "inspect/verify_run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/data_directory.h"
#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "datasets/manifest.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "eval/evaluator.h"
#include "eval/metric.h"
#include "eval/run_folders.h"
#include "eval/run_record.h"
#include "eval/verify_files.h"
#include "eval/verify_predictions.h"
#include "inspect/open_checkpoint.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_files.h"
#include "train/finish.h"
#include "train/interruption.h"

namespace lra {
namespace {

// Which part of a changed weights file differs from what it says of itself; begins with "; ".
std::string PlaceInWeights(const std::string& path) {
  const absl::StatusOr<SafetensorsFile> file = ReadSafetensors(path);
  if (!file.ok()) return absl::StrCat("; ", file.status().message());
  const auto expected = file->metadata.find(kTensorsKey);
  if (expected == file->metadata.end()) return "";
  return TensorsSha256(file->tensors) == expected->second
             ? "; its header was changed, its tensors were not"
             : absl::StrCat("; its tensors are not those of \"", kTensorsKey, "\" in its header");
}

// "config.train.steps is 20, the record says 30": the first field of configuration or task in
// which a checkpoint's state differs from its run's record; empty if none.
std::string StateDifference(const RunRecord& record, const CheckpointState& state) {
  RunRecord a, b;
  *a.mutable_config() = record.config();
  *a.mutable_spec() = record.spec();
  *b.mutable_config() = state.config();
  *b.mutable_spec() = state.spec();
  const std::vector<FieldDifference> differences = DiffRecords(a, b);
  if (differences.empty()) return "";
  const FieldDifference& first = differences.front();
  return absl::StrCat(first.path, " is ", first.b, ", the record says ", first.a);
}

class RunVerifier {
 public:
  RunVerifier(const std::string& directory, const VerifyOptions& options)
      : directory_(directory), options_(options) {
    verification_.directory = directory;
  }

  Verification Verify() {
    is_unfinished_ = IsUnfinishedRun(directory_);
    if (!is_unfinished_) record_ = VerifyRecord(directory_, &verification_);
    for (const int64_t step : CheckpointSteps(directory_)) VerifyCheckpoint(step);
    const absl::StatusOr<std::string> latest = LatestCheckpoint(directory_);
    if (!latest.ok() && !absl::IsNotFound(latest.status()))
      verification_.changes.emplace_back(latest.status().message());
    if (is_unfinished_) {
      NotRemade(absl::StrCat("it ", kNoRecord));
    } else if (!record_) {
      NotRemade("its record cannot be read");
    } else if (record_->results().empty()) {
      NotRemade("its record has no results");
    } else {
      for (const SplitResult& result : record_->results()) VerifyResult(result);
    }
    for (std::string& path : verification_.missing_files) path = Relative(path);
    return std::move(verification_);
  }

 private:
  std::string Relative(const std::string& path) const {
    const std::string prefix = absl::StrCat(directory_, "/");
    return path.rfind(prefix, 0) == 0 ? path.substr(prefix.size()) : path;
  }

  void NotRemade(const std::string& reason) {
    std::vector<std::string>& reasons = verification_.not_remade;
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(reason);
  }

  void Change(int64_t step, const std::string& what) {
    verification_.changes.push_back(what);
    changed_steps_.insert(step);
  }

  void VerifyCheckpoint(int64_t step) {
    const Verification before = verification_;
    VerifyFilesOf(step, CheckpointPath(directory_, step));
    // A run that is going removes its earlier checkpoints, also while one of them is looked at.
    if (is_unfinished_ && !FileExists(CheckpointPath(directory_, step))) verification_ = before;
  }

  // The seal of the state, and the digests that it has of the two files beside it.
  void VerifyFilesOf(int64_t step, const std::string& path) {
    const absl::StatusOr<CheckpointState> state = LoadCheckpointState(path);
    if (absl::IsNotFound(state.status())) {
      verification_.missing_files.push_back(JoinPath(path, kStateFile));
      return;
    }
    if (!state.ok()) return Change(step, std::string(state.status().message()));
    ++verification_.intact_files;
    VerifyTensors(step, JoinPath(path, kWeightsFile), state->weights_sha256());
    VerifyTensors(step, JoinPath(path, kOptimizerFile), state->optimizer_sha256());
    if (!record_) return;
    const std::string state_file = JoinPath(path, kStateFile);
    const std::string difference = StateDifference(*record_, *state);
    if (!difference.empty()) Change(step, absl::StrCat(state_file, ": ", difference));
    const std::string& weights = record_->weights_sha256();
    if (step != record_->selected_step() || weights.empty() || weights == state->weights_sha256())
      return;
    Change(step, absl::StrCat(state_file, ": weights_sha256 is ", state->weights_sha256(),
                              ", the record says ", weights));
  }

  void VerifyTensors(int64_t step, const std::string& path, const std::string& sha256) {
    std::string problem;
    if (VerifyDigest(path, sha256, &verification_, &problem) == FileState::kChanged)
      Change(step, absl::StrCat(problem, PlaceInWeights(path)));
  }

  // Why the result's predictions cannot be made anew, before anything is opened; empty if they can.
  std::string WhyNot(const SplitResult& result) const {
    if (record_->kind() == RunRecord::BASELINE) return "a baseline has no checkpoint";
    if (record_->kind() == RunRecord::EXTERNAL) return "predictions of other code, no checkpoint";
    const std::string checkpoint = CheckpointPath(directory_, result.step());
    if (!FileExists(JoinPath(checkpoint, kWeightsFile)))
      return absl::StrCat(Relative(checkpoint), " is not there");
    if (changed_steps_.contains(result.step()))
      return absl::StrCat(Relative(checkpoint), " was changed");
    return "";
  }

  // The result's split as the run saw it, where no checkpoint opens it.
  absl::StatusOr<SplitView> OpenSplit(const std::string& split) const {
    LRA_ASSIGN_OR_RETURN(const DataView view, ViewOfRun(*record_, ""));
    const std::string of_run = DataDirectoryOfRun(directory_);
    const std::string data_dir =
        of_run.empty() ? DefaultDataDirectory(record_->data().task()) : of_run;
    LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(data_dir));
    LRA_RETURN_IF_ERROR(Annotate(CheckDataOfRun(*record_, manifest, view), data_dir));
    LRA_ASSIGN_OR_RETURN(
        const Dataset data,
        Dataset::Open(data_dir, {.splits = {split}, .view = &view, .threads = options_.threads}));
    return SplitView::Create(data, split, view);
  }

  void VerifyResult(const SplitResult& result) {
    std::optional<OpenedCheckpoint> opened;
    std::string why_not = WhyNot(result);
    if (why_not.empty()) {
      auto checkpoint = OpenCheckpoint({.checkpoint = CheckpointPath(directory_, result.step()),
                                        .data_dir = "",
                                        .split = result.split(),
                                        .threads = options_.threads});
      if (checkpoint.ok()) opened = *std::move(checkpoint);
      if (!checkpoint.ok()) why_not = std::string(checkpoint.status().message());
    }
    if (opened && !VerifyExamples(result, *opened)) {
      why_not = absl::StrCat("the record has another number of ", result.split(), " examples");
      opened.reset();
    }
    if (!why_not.empty()) NotRemade(why_not);
    if (record_->spec().guesses_tokens()) return VerifyTokens(result, opened);
    const LogitsOfFile stored = VerifyPredictions(result, opened);
    const std::vector<int32_t> labels = LabelsOf(result, opened);
    VerifyScores(directory_, *record_, result,
                 {.logits = stored.logits, .labels = labels, .is_half = stored.is_half},
                 &verification_);
  }

  // Whether the record has as many examples as its run scores of the split.
  bool VerifyExamples(const SplitResult& result, const OpenedCheckpoint& opened) {
    const EvaluatorOptions options = OptionsOf(opened);
    const int64_t scored = EvaluatedExamples(opened.split.size(), options.batch_examples,
                                             options.limit_examples, options.drop_last);
    if (scored == result.examples()) return true;
    verification_.changes.push_back(
        absl::StrCat(JoinPath(directory_, kRecordFile), ": results of ", result.split(), " (",
                     result.checkpoint(), ").examples: is ", result.examples(), ", the run scores ",
                     scored, " of the split's ", opened.split.size()));
    return false;
  }

  // How the run was scored, whatever its record says of that.
  static EvaluatorOptions OptionsOf(const OpenedCheckpoint& opened) {
    const ExperimentConfig& config = opened.state.config();
    return ScoringOptions(config, config.evaluation().scored_examples());
  }

  // No logits of guessed tokens are stored: each example has its score.
  void VerifyTokens(const SplitResult& result, const std::optional<OpenedCheckpoint>& opened) {
    KnownPredictions known;
    known.rounding = RoundingOf(record_->config().numerics(), /*is_half=*/false);
    std::optional<SampledScores> sample;
    if (result.example_scores().empty()) {
      NotRemade("its record names no scores of examples");
    } else if (opened) {
      // All, where a file was changed, to name what of it.
      auto remade = RemakeScores(result, *opened, AreScoresIntact(result) ? options_.examples : 0);
      if (remade.ok()) known.remade = &sample.emplace(*std::move(remade));
      if (!remade.ok()) NotRemade(std::string(remade.status().message()));
    }
    VerifyScores(directory_, *record_, result, known, &verification_);
  }

  // A file that is not there is no change, but said.
  bool AreScoresIntact(const SplitResult& result) {
    bool is_intact = true;
    for (const ExampleScores& scores : result.example_scores()) {
      const std::string path = JoinPath(directory_, scores.file());
      if (!FileExists(path)) {
        NotRemade(absl::StrCat(scores.file(), " is not there"));
        continue;
      }
      const absl::StatusOr<Sha256Digest> digest = HashFile(path);
      is_intact = is_intact && digest.ok() && ToHex(*digest) == scores.sha256();
    }
    return is_intact;
  }

  absl::StatusOr<SampledScores> RemakeScores(const SplitResult& result,
                                             const OpenedCheckpoint& opened,
                                             int64_t examples) const {
    LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record_->spec()));
    return ScoreSample(*opened.model, opened.split, *metric, examples, record_->seed(),
                       RemakeOptions(result, opened));
  }

  // Labels of the scored examples; empty where the data is not there.
  std::vector<int32_t> LabelsOf(const SplitResult& result,
                                const std::optional<OpenedCheckpoint>& opened) const {
    std::vector<int32_t> labels;
    if (opened) {
      labels = Labels(opened->split);
    } else if (const auto split = OpenSplit(result.split()); split.ok()) {
      labels = Labels(*split);
    }
    if (static_cast<int64_t>(labels.size()) < result.examples()) return {};
    labels.resize(result.examples());
    return labels;
  }

  // The stored logits, empty unless the file is intact.
  LogitsOfFile VerifyPredictions(const SplitResult& result,
                                 const std::optional<OpenedCheckpoint>& opened) {
    if (result.predictions_file().empty()) {
      NotRemade("its record names no predictions");
      return {};
    }
    const std::string path = JoinPath(directory_, result.predictions_file());
    std::string problem;
    const FileState state =
        VerifyDigest(path, result.predictions_sha256(), &verification_, &problem);
    if (state == FileState::kMissing) {
      NotRemade(absl::StrCat(result.predictions_file(), " is not there"));
      return {};
    }
    const int classes = record_->spec().classes();
    if (state == FileState::kChanged) {
      if (opened) problem += PlaceOfChange(path, result, *opened);
      verification_.changes.push_back(problem);
      return {};
    }
    absl::StatusOr<LogitsOfFile> stored = ReadLogitsFile(path, result, record_->spec());
    if (!stored.ok()) {
      verification_.changes.emplace_back(stored.status().message());
      return {};
    }
    if (!opened) return *std::move(stored);
    const auto sample = Remake(result, *opened, options_.examples);
    if (!sample.ok()) {
      NotRemade(std::string(sample.status().message()));
      return *std::move(stored);
    }
    ComparePredictions(path, *stored, *sample, classes,
                       RoundingOf(record_->config().numerics(), stored->is_half), &verification_);
    return *std::move(stored);
  }

  absl::StatusOr<SampledLogits> Remake(const SplitResult& result, const OpenedCheckpoint& opened,
                                       int64_t examples) const {
    return PredictSample(*opened.model, opened.split, record_->spec().classes(), examples,
                         record_->seed(), RemakeOptions(result, opened));
  }

  EvaluatorOptions RemakeOptions(const SplitResult& result, const OpenedCheckpoint& opened) const {
    EvaluatorOptions options = OptionsOf(opened);
    options.label = absl::StrCat("predict ", result.split(), " of ", directory_);
    options.quiet = options_.quiet;
    return options;
  }

  std::string PlaceOfChange(const std::string& path, const SplitResult& result,
                            const OpenedCheckpoint& opened) const {
    const auto all = Remake(result, opened, 0);
    if (!all.ok()) return "";
    return PlaceInPredictions(path, result, InOrder(*all, record_->spec().classes()),
                              record_->spec(), RoundingOf(record_->config().numerics(), false));
  }

  static std::vector<float> InOrder(const SampledLogits& sample, int64_t classes) {
    std::vector<float> logits(sample.logits.size());
    for (size_t i = 0; i < sample.examples.size(); ++i)
      std::copy_n(sample.logits.begin() + static_cast<int64_t>(i) * classes, classes,
                  logits.begin() + sample.examples[i] * classes);
    return logits;
  }

  const std::string directory_;
  const VerifyOptions options_;
  bool is_unfinished_ = false;
  std::optional<RunRecord> record_;
  std::set<int64_t> changed_steps_;
  Verification verification_;
};

}  // namespace

Verification VerifyRun(const std::string& directory, const VerifyOptions& options) {
  return RunVerifier(directory, options).Verify();
}

absl::StatusOr<std::vector<Verification>> VerifyRuns(absl::Span<const std::string> paths,
                                                     const VerifyOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> folders, FindRunFolders(paths));
  if (folders.empty())
    return absl::NotFoundError(absl::StrCat("no runs below ", absl::StrJoin(paths, ", ")));
  std::vector<Verification> runs;
  for (const std::string& folder : folders) {
    runs.push_back(VerifyRun(folder, options));
    if (StopRequested())
      return absl::CancelledError(
          absl::StrCat("stopped after ", runs.size(), " of ", folders.size(), " runs"));
  }
  return runs;
}

}  // namespace lra
