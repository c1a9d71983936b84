#include "tasks/baseline.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/data_directory.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "tasks/table_baseline.h"
#include "tasks/task_facts.h"
#include "tasks/token_baseline.h"

namespace lra {
namespace {

// Validation and test, and the split that was asked for.
std::vector<std::string> SplitsToScore(const std::string& split) {
  std::vector<std::string> splits = {"validation", "test"};
  if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(split);
  return splits;
}

absl::StatusOr<DataView> ViewOf(const TaskDataRequest& request) {
  if (request.exact_view) return *request.exact_view;
  return LoadView(request.task, request.view.protocol, request.view.preset, request.view.sets);
}

absl::Status RunBaseline(const BaselineMethod& method, const BaselineData& data,
                         const BaselineOptions& options, BaselinePrediction* prediction) {
  if (data.train.spec().guesses_tokens()) {
    LRA_ASSIGN_OR_RETURN(prediction->token_scores, method.ScoreTokens(data, options));
  } else {
    LRA_ASSIGN_OR_RETURN(prediction->logits, method.Predict(data, options));
  }
  return absl::OkStatus();
}

// Says which methods do not run, and why.
void NoteLeftOut(const std::vector<std::unique_ptr<BaselineMethod>>& methods,
                 const BaselineOptions& options, const TaskSpec& seen, BaselineResults* results) {
  for (const std::unique_ptr<BaselineMethod>& method : methods) {
    const BaselineFacts& facts = method->facts();
    if (const std::string why = method->WhyNot(seen); !why.empty()) {
      results->notes.push_back(absl::StrCat("baseline ", facts.name, " is left out: ", why));
      if (!options.quiet) std::cerr << "note: " << results->notes.back() << "\n";
    } else if (!facts.is_quick && !options.all) {
      results->left_out.push_back(facts.name);
    }
  }
}

}  // namespace

std::vector<std::unique_ptr<BaselineMethod>> AllBaselines(const Task& task, const DataView& view) {
  // Data without labels has nothing else to guess.
  const bool are_hidden = view.target() == DataView::MASKED;
  if (view.target() == DataView::NEXT || are_hidden || task.Spec().classes() < 2) {
    std::vector<std::unique_ptr<BaselineMethod>> methods =
        MakeTokenBaselines({.is_image = IsImage(task.Spec()),
                            .has_colours = view.grey() == DataView::COLOURS,
                            .are_hidden = are_hidden});
    if (are_hidden) return methods;
    for (std::unique_ptr<BaselineMethod>& method : task.TokenBaselines(view))
      methods.push_back(std::move(method));
    return methods;
  }
  std::vector<std::unique_ptr<BaselineMethod>> methods;
  methods.push_back(MakeMajorityBaseline());
  for (std::unique_ptr<BaselineMethod>& method : task.Baselines(view))
    methods.push_back(std::move(method));
  return methods;
}

absl::StatusOr<std::vector<BaselinePrediction>> RunBaselines(
    const std::vector<std::unique_ptr<BaselineMethod>>& methods, const SplitView& train,
    const SplitView& validation, const std::vector<const SplitView*>& scored,
    const BaselineOptions& options) {
  std::vector<BaselinePrediction> predictions;
  for (const std::unique_ptr<BaselineMethod>& method : methods) {
    if (!method->facts().is_quick && !options.all) continue;
    if (!method->WhyNot(train.spec()).empty()) continue;
    BaselinePrediction& prediction = predictions.emplace_back();
    prediction.facts = method->facts();
    LRA_RETURN_IF_ERROR(
        Annotate(RunBaseline(*method, {train, validation, scored}, options, &prediction),
                 absl::StrCat("baseline ", method->facts().name)));
  }
  return predictions;
}

absl::StatusOr<std::vector<std::string>> BaselineNamesOf(const Manifest& manifest) {
  std::vector<std::string> names;
  if (!KnowsTask(manifest.spec().name())) return names;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, TaskOf(manifest));
  for (const auto& method : AllBaselines(*task, DataView())) names.push_back(method->facts().name);
  return names;
}

absl::StatusOr<std::vector<std::string>> TakenNames(const std::string& data_dir) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(data_dir));
  LRA_ASSIGN_OR_RETURN(std::vector<std::string> names, BaselineNamesOf(manifest));
  for (std::string& attention : ConfigNames("attentions")) names.push_back(std::move(attention));
  return names;
}

absl::StatusOr<OpenedTaskData> OpenTaskData(const TaskDataRequest& request,
                                            const std::vector<std::string>& splits, int threads) {
  OpenedTaskData opened;
  LRA_RETURN_IF_ERROR(MakeTask(request.task).status());  // names the known tasks
  LRA_ASSIGN_OR_RETURN(opened.view, ViewOf(request));
  const std::string data_dir =
      request.data_dir.empty() ? DefaultDataDirectory(request.task) : request.data_dir;
  LRA_RETURN_IF_ERROR(CheckDataOfTask(data_dir, request.task));
  if (request.check_data) {
    LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(data_dir));
    LRA_RETURN_IF_ERROR(
        Annotate(request.check_data(manifest, opened.view), absl::StrCat("data ", data_dir)));
  }
  OpenOptions options{.splits = splits, .view = &opened.view, .threads = threads};
  if (std::find(splits.begin(), splits.end(), "train") == splits.end())
    options.splits.push_back("train");
  LRA_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open(data_dir, options));
  LRA_ASSIGN_OR_RETURN(opened.train, SplitView::Create(data, "train", opened.view));
  for (const std::string& name : splits) {
    LRA_ASSIGN_OR_RETURN(opened.splits.emplace_back(), SplitView::Create(data, name, opened.view));
  }
  opened.manifest = data.manifest();
  // Baselines and strata may depend on the options that the data was made with.
  LRA_ASSIGN_OR_RETURN(opened.task, TaskOf(opened.manifest));
  return opened;
}

absl::StatusOr<BaselineResults> PredictBaselines(const BaselineRequest& request) {
  BaselineResults results;
  results.splits = SplitsToScore(request.split);
  LRA_ASSIGN_OR_RETURN(const OpenedTaskData opened,
                       OpenTaskData(request, results.splits, request.options.threads));
  std::vector<const SplitView*> scored;
  for (const SplitView& split : opened.splits) {
    scored.push_back(&split);
    results.labels.push_back(Labels(split));
  }
  const auto methods = AllBaselines(*opened.task, opened.view);
  LRA_ASSIGN_OR_RETURN(results.predictions, RunBaselines(methods, opened.train, opened.splits[0],
                                                         scored, request.options));
  NoteLeftOut(methods, request.options, opened.train.spec(), &results);
  results.manifest = opened.manifest;
  results.view = opened.view;
  results.spec = opened.train.spec();
  return results;
}

}  // namespace lra
