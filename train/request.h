// What a training run is asked for. Free of LibTorch.
#ifndef LRA_TRAIN_REQUEST_H_
#define LRA_TRAIN_REQUEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "lra/config.h"
#include "lra/config.pb.h"
#include "lra/experiment.h"
#include "models/classifier_factory.h"

namespace lra {

class Ranks;

struct TrainRequest {
  ResolvedConfig resolved;
  // data_dir and out_dir are set.
  RuntimeConfig runtime;
  // Go on from the latest checkpoint if there is one.
  bool resume = false;
  // The checkpoint with config.start_weights_sha256 or config.encoder_weights_sha256, which a new
  // run needs; empty without one.
  std::string start_checkpoint{};
  // At the end, score the selected checkpoint only, not the last one as well.
  bool skips_last_checkpoint = false;
  // Predictions are stored as float16, not as float32.
  bool half_logits = false;
  // This process made that checkpoint: going on from it is no resume that the record counts.
  bool is_same_process = false;
  // The command line as typed; logged with every look at the test split.
  std::string command_line;
  // The trials of a search that this run won; they go into its record.
  std::vector<Trial> trials;
  ClassifierFactory make_classifier = CreateClassifier;
  // The processes that train the run together; null = this one alone.
  std::shared_ptr<Ranks> ranks{};
  // Runs that this process trains at once, of which this is one.
  int runs_at_once = 1;
  // With several: lets the others take a step; returns the seconds that they took. Called after
  // each step; empty = there are no others.
  std::function<double()> await_turn{};
  // Gradients are added so that any number of processes up to eight gives the same bits.
  bool exact_reduction = false;
  // auto, on or off (empty = auto): whether a device repeats steps as graphs (train/step_graphs.h).
  // Changes rounding only, by padding.
  std::string graphs{};
  // The warnings are printed by another run, which differs in the seed (and its encoder) alone.
  bool leaves_out_warnings = false;
};

// One or more runs that differ in the seed, and in the encoder where each seed has its own.
struct TrainChoice {
  ExperimentChoice experiment;
  std::string seeds;  // "0-4,7" (train/seeds.h); empty = the configuration's
  // An empty data_dir is DefaultDataDirectory of the task, an empty out_dir DefaultRunDirectory;
  // with several seeds "-sSEED" is added to an out_dir that is given.
  RuntimeConfig runtime;
  bool resume = false;
  // A checkpoint, a run folder or a weights file to start from; empty = initial weights.
  std::string from{};
  // Another one, of which the encoder alone is taken (train/initial_encoder.h); with {seed}, one
  // for each seed (train/encoder_recipe.h).
  std::string init_from{};
  bool skips_last_checkpoint = false;
  bool half_logits = false;
  std::string command_line;
  std::shared_ptr<Ranks> ranks{};
  bool exact_reduction = false;
  std::string graphs{};
};

// InvalidArgument where both `from` and `init_from` are given; the error of CheckEncoderPath.
absl::Status CheckStart(const TrainChoice& choice);

// One request a seed, in order. Where the choice is to resume the run in an out_dir, and names
// neither settings nor seeds, they are that run's, and so is the data where none is named; NotFound
// where it has no checkpoint. Else the error of CheckStart; InvalidArgument for a start beside
// pretraining, and for weights of another digest than the configuration has; the errors of
// ResolveExperiment, ParseSeeds, FindCheckpoint and LoadCheckpointState.
absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice);
// The same for a configuration that is resolved already; choice.experiment is not read.
absl::StatusOr<std::vector<TrainRequest>> MakeTrainRequests(const TrainChoice& choice,
                                                            ResolvedConfig resolved);

// "runs/" and ExperimentName(config), e.g. "runs/listops-linear-small-s0". Data in another folder
// than DefaultDataDirectory of the task is a part of the name, by eight digits of a hash of its
// splits' fingerprints: "runs/listops-linear-small-data-1a2b3c4d-s0". Where `data_dir` holds no
// data, which training refuses, the name has no such part.
std::string DefaultRunDirectory(const ExperimentConfig& config, const std::string& data_dir);

// That part, "-data-1a2b3c4d"; empty for the task's default folder, for no folder and for one
// without data.
std::string DataInName(const std::string& task, const std::string& data_dir);

// `data_dir`, or DefaultDataDirectory of the task where that is empty.
std::string DataFolderOf(const std::string& task, const std::string& data_dir);

// What the record of such a run would say of its data in DataFolderOf(); empty where there is none,
// or none that its view allows.
DataIdentity DataOfRun(const ExperimentConfig& config, const std::string& data_dir);

// SHA-256 over the fingerprints of the data's splits; empty where `data_dir` holds no data.
std::string DataDigest(const std::string& data_dir);

// AlreadyExists when the run folder holds a run and resume is off, and when it holds none but lies
// inside a run or has runs below it.
absl::Status CheckRunDirectory(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_REQUEST_H_
