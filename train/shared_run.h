// A run that several processes train together (ranks/ranks.h): what they agree on besides the
// gradient. Rank 0 alone reads and writes the run's folder.
#ifndef LRA_TRAIN_SHARED_RUN_H_
#define LRA_TRAIN_SHARED_RUN_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/evaluator.h"
#include "eval/run_record.pb.h"
#include "models/base/parameters.h"
#include "ranks/ranks.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/optimizer.h"
#include "train/request.h"

namespace lra {

// Every so many steps the ranks compare their weights.
inline constexpr int64_t kCompareWeightsSteps = 100;

// Meets the other processes where a launcher started several (ReadLaunch), and completes what is
// asked for: threads that were left open are ThreadsOfRank's, and all but rank 0 are quiet. The
// errors of ReadLaunch and Ranks::Join.
absl::StatusOr<std::shared_ptr<Ranks>> JoinRanks(TrainChoice* choice);

// InvalidArgument where a launcher started several processes of what is one process's work ("lists
// of tasks").
absl::Status CheckAlone(absl::string_view what);

// AlreadyExists, on all ranks, where rank 0 finds that one of these runs is there and resume is
// off.
absl::Status CheckRunDirectories(const std::vector<TrainRequest>& requests, Ranks* ranks);

// InvalidArgument where the run cannot be shared by so many processes, or not exactly: a norm over
// examples, whose statistics are of a batch that nobody holds; a search; more processes than a
// batch has examples or, with --exact-reduction, shards.
absl::Status CheckShareable(const TrainRequest& request, const Ranks& ranks);

// Replaces the message by rank 0's; `what` it is, for the error of one that cannot be read.
absl::Status ShareMessage(Ranks* ranks, absl::string_view what, google::protobuf::Message* message);

// After rank 0 restored or began a run, gives its state, weights and moments to all.
// InvalidArgument on a rank whose configuration or data are others than rank 0's.
absl::Status ShareStart(Ranks* ranks, const ParameterStore& parameters, Optimizer* optimizer,
                        CheckpointState* state);
// Gives rank 0's weights to all.
absl::Status ShareWeights(Ranks* ranks, const ParameterStore& parameters);

// Internal, naming the step and the ranks, where weights differ from rank 0's in a bit.
absl::Status CompareWeights(Ranks* ranks, const ParameterStore& parameters, int64_t step);

// Rank 0's record; the others' argument is ignored but for an error, which ends all.
absl::StatusOr<RunRecord> ShareRecord(Ranks* ranks, const absl::StatusOr<RunRecord>& record);

// Makes an evaluation compute each batch on one rank, and all of them know all logits or, where
// tokens are guessed, all examples' sums, bit for bit those of a process that is alone. Stops on
// all ranks when one is asked to.
void ShareEvaluation(const std::shared_ptr<Ranks>& ranks, EvaluatorOptions* options);

}  // namespace lra

#endif  // LRA_TRAIN_SHARED_RUN_H_
