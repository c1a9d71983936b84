// What a stage of a run minimises: labels (train/label_objective.h) or the texts themselves
// (train/token_objective.h). The loop, the choice of the micro batch and the post-mortem of a step
// know no more of a model than this.
#ifndef LRA_TRAIN_OBJECTIVE_H_
#define LRA_TRAIN_OBJECTIVE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datasets/host_batch.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"
#include "lra/random.h"
#include "models/base/forward_context.h"
#include "models/base/parameters.h"
#include "models/encoder/encoder.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace lra {

// Sums over a batch.
struct BatchResult {
  double loss_sum = 0;
  // Labels or tokens that were guessed; the loss is their mean.
  int64_t guesses = 0;
  int64_t correct = 0;
  // Real tokens that were read, of both texts of pairs.
  int64_t tokens = 0;
  std::vector<int64_t> labels, predicted;  // by class; empty where tokens are guessed
  // What a device has yet to add to the above, float64: loss_sum, correct, and predicted by class.
  // Undefined where everything is known, as on the CPU.
  at::Tensor on_device = {};

  // Waits for the device and adds what it has. Throws as LibTorch does.
  void Read();
};

// Adds what a device computed of a part to what it computed before.
void AddTally(const at::Tensor& tally, BatchResult* result);

// The loss of guesses [G, C] against targets [G], summed, and how many were right, as on_device
// begins; with the guesses of each class behind it.
at::Tensor TallyOnDevice(const at::Tensor& loss, const at::Tensor& logits,
                         const at::Tensor& targets, bool counts_classes);

// A step's gradient on a whole batch in two halves: what is of the host, and what a device does
// without it, which a graph may repeat for every batch of the same shape (train/step_graphs.h).
class WholeBatchWork {
 public:
  virtual ~WholeBatchWork() = default;
  // The batch with more padding, in a shape that others share, where padding changes nothing but
  // rounding.
  virtual HostBatch Shaped(HostBatch batch) const = 0;
  // All that AddGradientOf() reads of the batch and its divisor, some of it undefined.
  virtual std::vector<at::Tensor> OnHost(const HostBatch& batch, double divisor) const = 0;
  // What of the result is known without a forward pass.
  virtual BatchResult Known(const HostBatch& batch) const = 0;
  // Adds the gradient of the batch's losses over the divisor. Reads nothing of `batch` but its
  // shape: `moved` is OnHost() on the parameters' device. Returns BatchResult::on_device. Throws as
  // LibTorch does.
  virtual at::Tensor AddGradientOf(const HostBatch& batch, const std::vector<at::Tensor>& moved,
                                   const ForwardContext& context) const = 0;
};

class Objective {
 public:
  virtual ~Objective() = default;

  // "training", "pretraining": begins messages.
  virtual std::string name() const = 0;
  // The configuration's field that holds its learning rate.
  virtual std::string rate_field() const = 0;
  // Optimiser steps of the stage.
  virtual int64_t steps() const = 0;
  // Whether a budget of the stage ends with this step, which is then validated and saved.
  virtual bool EndsAt(int64_t step) const { return step == steps(); }
  // The schedule that holds at this step.
  virtual Schedule MakeSchedule(int64_t step) const = 0;
  // What the order of the stage's batches is drawn from.
  virtual RandomDomain order() const { return RandomDomain::kExampleOrder; }
  // What is optimised and saved.
  virtual const ParameterStore& parameters() const = 0;
  // Whether the amount of padding changes an example's gradient (SplitBatch).
  virtual bool depends_on_padding() const = 0;

  // Adds the gradient of the batch's mean loss to the parameters, with forward passes of at most
  // micro_batch_examples examples (0 = all at once). Parts change the order of sums only: dropout
  // is keyed by example. A device is not waited for: what it has yet to tell is in the result's
  // on_device. With BATCH norm the parts' statistics would differ; ChooseMicroBatch()
  // refuses that. Stops after the first part whose loss is not finite. ResourceExhausted when
  // memory runs out.
  absl::StatusOr<BatchResult> AddGradient(const HostBatch& batch, int64_t micro_batch_examples,
                                          const ForwardContext& context) const;
  // What the sum of the batch's losses is divided by in this step: its guesses, or fewer under
  // train.last_batch. FailedPrecondition for a batch that leaves nothing to guess.
  virtual absl::StatusOr<double> Divisor(const HostBatch& batch, uint32_t step) const = 0;
  // Does the same for some examples of a batch whose divisor is given: the gradients of its
  // shares add up to the batch's.
  virtual absl::StatusOr<BatchResult> AddShare(const HostBatch& share, double divisor,
                                               int64_t micro_batch_examples,
                                               const ForwardContext& context) const = 0;
  // nullptr where batches of one shape are not alike to a device.
  virtual const WholeBatchWork* whole_batch_work() const { return nullptr; }
  // The classes that BatchResult counts; 0 where it counts none.
  virtual int64_t counted_classes() const { return 0; }

  // What a forward pass computes, in order, by name (Classifier::VisitActivations). Throws as
  // LibTorch does.
  virtual void VisitActivations(const HostBatch& batch, const ForwardContext& context,
                                const Encoder::ActivationVisitor& visit) const = 0;

  // What the curve shows beside the loss; the first one judges.
  virtual std::vector<const Metric*> metrics() const = 0;
  // What the value of the first one is to be held against, for the line of progress; or nothing.
  virtual std::string Reference(const CheckpointState& state) const;
  // What these are computed from, of the steps since the last curve point.
  virtual Sums TrainingSums(const RunningSums& sums) const;

  // Fills in the point's validation fields and counts the outcome in `state`, with forward passes
  // of at most micro_batch_examples examples (0 = a whole batch). Nothing that training reads is
  // drawn or changed. Cancelled after RequestStop().
  virtual absl::Status Validate(int64_t micro_batch_examples, CheckpointState* state,
                                CurvePoint* point) const = 0;
  // Whether what it trained is scored on the test split in the end.
  virtual bool is_tested() const { return false; }
  // A step that is validated, and whose checkpoint is kept whatever else is; -1 = none.
  virtual int64_t kept_step() const { return -1; }
};

// One stage of a run: its objective, and how far it has come.
struct Stage {
  const Objective* objective = nullptr;
  // The folder of the stage's checkpoints and curve.
  std::string directory;
  Optimizer* optimizer = nullptr;
  CheckpointState* state = nullptr;
  // Examples in one forward pass; 0 = the whole batch (ChooseMicroBatch).
  int64_t micro_batch_examples = 0;
};

}  // namespace lra

#endif  // LRA_TRAIN_OBJECTIVE_H_
