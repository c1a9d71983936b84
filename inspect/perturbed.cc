#include "inspect/perturbed.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/perturbation.h"
#include "eval/evaluator.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"
#include "models/classifier.h"
#include "train/interruption.h"

namespace lra {
namespace {

// Every run of a command sees the same perturbed inputs.
constexpr uint32_t kSeed = 0;

// A model in front of which inputs are perturbed.
class PerturbedClassifier : public Classifier {
 public:
  PerturbedClassifier(Classifier* model, const Perturbation& perturbation, const TaskSpec& seen,
                      int64_t fixed_tokens)
      : model_(*model), perturbation_(perturbation), seen_(seen), fixed_tokens_(fixed_tokens) {}

  std::vector<at::Tensor> OnHost(const HostBatch& batch, bool is_training) const override {
    return model_.OnHost(Perturbed(batch), is_training);
  }
  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    return model_.Forward(Perturbed(batch), context);
  }
  void VisitAttention(const HostBatch& batch, const AttentionVisitor& visit) const override {
    model_.VisitAttention(Perturbed(batch), visit);
  }
  const ParameterStore& parameters() const override { return model_.parameters(); }
  std::vector<std::pair<std::string, double>> LearnedNumbers() const override {
    return model_.LearnedNumbers();
  }
  bool depends_on_padding() const override { return model_.depends_on_padding(); }
  void MoveTo(at::Device device) override { model_.MoveTo(device); }
  void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                        const ActivationVisitor& visit) const override {
    model_.VisitActivations(Perturbed(batch), context, visit);
  }

 private:
  HostBatch Perturbed(HostBatch batch) const {
    Perturb(perturbation_, seen_, kSeed, fixed_tokens_, &batch);
    return batch;
  }

  Classifier& model_;
  const Perturbation perturbation_;
  const TaskSpec& seen_;
  const int64_t fixed_tokens_;
};

absl::StatusOr<Scored> ScoreOne(const OpenedCheckpoint& opened, const Perturbation& perturbation,
                                const Metric& metric, const PerturbedRequest& request) {
  const ExperimentConfig& config = opened.state.config();
  const PerturbedClassifier model(opened.model.get(), perturbation, opened.split.spec(),
                                  config.view().end_mark() ? 1 : 0);
  return ScoreSplit(model, opened.split, opened.state.spec().classes(), metric,
                    {.batch_examples = config.train().batch_examples(),
                     .limit_examples = request.examples,
                     .should_stop = StopRequested,
                     .label = Name(perturbation),
                     .quiet = request.quiet});
}

}  // namespace

absl::StatusOr<PerturbedScores> ScorePerturbed(const PerturbedRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Look look, OpenLook(request));
  const OpenedCheckpoint& opened = look.opened;
  const std::vector<Perturbation> perturbations = PerturbationsFor(opened.split.spec());
  if (perturbations.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--perturb: the inputs of task ", opened.split.spec().name(),
        " are ids that mean nothing when they change places; texts and images can be perturbed"));
  }
  if (opened.split.spec().guesses_tokens()) {
    return absl::InvalidArgumentError(
        "--perturb: this run guesses tokens (view.target), which would change places, too");
  }
  PerturbedScores scores;
  LRA_ASSIGN_OR_RETURN(scores.metric, MetricOf(opened.state.spec()));
  LRA_RETURN_IF_ERROR(LogLook(request, look));
  scores.step = opened.state.step();
  scores.block_examples = BlockExamplesOf(opened.split.spec().name());
  for (const Perturbation& perturbation : perturbations) {
    LRA_ASSIGN_OR_RETURN(Scored scored, ScoreOne(opened, perturbation, *scores.metric, request));
    scores.names.push_back(Name(perturbation));
    scores.examples = static_cast<int64_t>(scored.labels.size());
    scores.sums.push_back(std::move(scored.sums));
  }
  return scores;
}

ProfileTable PerturbedTable(const PerturbedScores& scores) {
  ProfileTable table{
      "perturbation", absl::StrCat(kPerturbedDefinition, ", at step ", scores.step), {}};
  for (size_t p = 0; p < scores.names.size(); ++p) {
    table.rows.push_back(MakeProfileRow(*scores.metric, scores.names[p], scores.examples,
                                        scores.sums[p], scores.block_examples));
  }
  return table;
}

}  // namespace lra
