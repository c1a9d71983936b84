#include "eval/profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/later_look.h"
#include "eval/prediction_file.h"
#include "eval/run_interval.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kWhole[] = "all";

ProfileTable MakeTable(const Metric& metric, const Strata& strata, const ExampleSums& sums,
                       size_t scored, int64_t block_examples) {
  std::vector<std::vector<int64_t>> places(strata.names.size());
  for (size_t i = 0; i < scored; ++i) places[strata.of[i]].push_back(static_cast<int64_t>(i));
  ProfileTable table{strata.name, strata.definition, {}};
  for (size_t s = 0; s < strata.names.size(); ++s) {
    table.rows.push_back(MakeProfileRow(metric, strata.names[s],
                                        static_cast<int64_t>(places[s].size()),
                                        sums.Pick(places[s]), block_examples, places[s]));
  }
  return table;
}

std::vector<int64_t> AnswersOf(absl::Span<const float> logits, int64_t classes) {
  std::vector<int64_t> answers;
  for (auto row = logits.begin(); row != logits.end(); row += classes)
    answers.push_back(std::max_element(row, row + classes) - row);
  return answers;
}

absl::StatusOr<LadderStep> MakeStep(const Metric& metric, const LadderAnswers& answers,
                                    const ProfileInput& input, size_t scored) {
  const int classes = input.record->spec().classes();
  const absl::Span<const float> logits = answers.logits.subspan(0, scored * classes);
  LRA_ASSIGN_OR_RETURN(const ExampleSums sums,
                       ScoreGuesses(metric, {logits, input.labels.subspan(0, scored), classes}));
  const std::vector<int64_t> theirs = AnswersOf(logits, classes);
  const std::vector<int64_t> ours = AnswersOf(input.logits, classes);
  int64_t equal = 0;
  for (size_t i = 0; i < scored; ++i) equal += theirs[i] == ours[i] ? 1 : 0;
  return LadderStep{answers.name, metric.Value(sums.Total()),
                    static_cast<double>(equal) / static_cast<double>(scored)};
}

absl::Status CheckSizes(const ProfileInput& input) {
  const size_t classes = input.record->spec().classes();
  const auto unfit = [](absl::string_view what, size_t is, size_t should) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: ", what, " has ", is, " values, ", should, " are needed"));
  };
  if (classes == 0 || input.logits.empty() || input.logits.size() % classes != 0)
    return unfit("the run", input.logits.size(), input.labels.size() * classes);
  if (input.logits.size() / classes > input.labels.size())
    return unfit("the split", input.labels.size(), input.logits.size() / classes);
  for (const Strata& strata : input.strata) {
    if (strata.of.size() != input.labels.size())
      return unfit(strata.name, strata.of.size(), input.labels.size());
  }
  for (const LadderAnswers& answers : input.ladder) {
    if (answers.logits.size() != input.labels.size() * classes)
      return unfit(answers.name, answers.logits.size(), input.labels.size() * classes);
  }
  return absl::OkStatus();
}

}  // namespace

ProfileRow MakeProfileRow(const Metric& metric, std::string name, int64_t examples,
                          const ExampleSums& sums, int64_t block_examples,
                          absl::Span<const int64_t> places) {
  const Sums total = sums.Total();
  ProfileRow row{std::move(name), examples, metric.Value(total), std::nullopt};
  const std::optional<RunInterval> interval = IntervalOfRun({.metric = &metric,
                                                             .sums = total,
                                                             .examples = examples,
                                                             .values = metric.ValuesOf(sums),
                                                             .block_examples = block_examples},
                                                            kProfileConfidence, places);
  if (interval) row.interval = interval->interval;
  return row;
}

absl::StatusOr<Profile> MakeProfile(const ProfileInput& input) {
  LRA_RETURN_IF_ERROR(CheckSizes(input));
  Profile profile;
  LRA_ASSIGN_OR_RETURN(profile.metric, MetricOf(input.record->spec()));
  const Metric& metric = *profile.metric;
  profile.task = input.record->data().task();
  profile.method = input.record->method();
  profile.split = input.split;
  const int classes = input.record->spec().classes();
  const size_t scored = input.logits.size() / classes;
  LRA_ASSIGN_OR_RETURN(
      const ExampleSums sums,
      ScoreGuesses(metric, {input.logits, input.labels.subspan(0, scored), classes}));
  profile.block_examples = input.block_examples;
  profile.whole =
      MakeProfileRow(metric, kWhole, static_cast<int64_t>(scored), sums, input.block_examples);
  for (const Strata& strata : input.strata)
    profile.tables.push_back(MakeTable(metric, strata, sums, scored, input.block_examples));
  for (const LadderAnswers& answers : input.ladder) {
    LRA_ASSIGN_OR_RETURN(profile.ladder.emplace_back(), MakeStep(metric, answers, input, scored));
  }
  std::stable_sort(
      profile.ladder.begin(), profile.ladder.end(),
      [&](const LadderStep& a, const LadderStep& b) { return metric.Better(b.value, a.value); });
  return profile;
}

std::string WhyNoProfile(absl::string_view directory) {
  return absl::StrCat(directory, ": this run guesses tokens (view.target); profiles are of labels");
}

absl::StatusOr<std::vector<float>> StoredLogits(absl::string_view directory,
                                                const RunRecord& record, absl::string_view split) {
  const SplitResult* result = FindResult(record, split);
  if (record.spec().guesses_tokens()) return absl::InvalidArgumentError(WhyNoProfile(directory));
  if (IsScoredAtTheEndAlone(record, std::string(split))) {
    return absl::NotFoundError(absl::StrCat(
        directory, ": split ", split,
        " was scored at the last checkpoint alone, and a profile is of the selected one"));
  }
  if (result == nullptr || result->predictions_file().empty()) {
    return absl::NotFoundError(absl::StrCat(directory, ": the run has no predictions of split ",
                                            split, "; `lra eval ", directory, " --split ", split,
                                            "` makes a record that has them"));
  }
  const std::string path = JoinPath(directory, result->predictions_file());
  if (!FileExists(path)) {
    return absl::NotFoundError(
        absl::StrCat(path,
                     ": no such file; a record alone does not hold the predictions that a "
                     "profile needs"));
  }
  LRA_RETURN_IF_ERROR(CheckPredictions(directory, record));
  LRA_ASSIGN_OR_RETURN(ExternalPredictions predictions,
                       ReadPredictions({path}, {.spec = record.spec(),
                                                .name = std::string(split),
                                                .examples = result->examples()}));
  return std::move(predictions.logits);
}

std::string LadderPlace(const Profile& profile) {
  if (profile.ladder.empty()) return "";
  return PlaceOnLadder(*profile.metric, profile.whole.value, profile.whole.interval,
                       profile.ladder);
}

std::string PlaceOnLadder(const Metric& metric, double score,
                          const std::optional<Interval>& interval,
                          absl::Span<const LadderStep> ladder) {
  const LadderStep* below = nullptr;
  const LadderStep* above = nullptr;
  const LadderStep* like = nullptr;
  const auto distance = [score](const LadderStep& step) { return std::abs(step.value - score); };
  for (const LadderStep& step : ladder) {
    const bool is_within = interval && step.value >= interval->low && step.value <= interval->high;
    if (is_within && (like == nullptr || distance(step) < distance(*like))) like = &step;
    if (metric.Better(step.value, score)) {
      if (above == nullptr) above = &step;
    } else {
      below = &step;
    }
  }
  if (like != nullptr) return absl::StrCat("as ", like->name);
  if (below == nullptr) return absl::StrCat("below ", above->name);
  if (above == nullptr) return absl::StrCat("above ", below->name);
  return absl::StrCat("between ", below->name, " and ", above->name);
}

}  // namespace lra
