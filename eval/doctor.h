// `lra doctor`: from facts about a run to the causes that they point to, the likeliest first.
//
// A pure function of the facts. eval/doctor_data.h gathers those of the data and
// inspect/model_facts.h those of the weights, as far as they are there. Each rule is a few lines in
// eval/doctor_rules*.cc; docs/diagnosis.md says what each looks at and which planted faults it
// names.
#ifndef LRA_EVAL_DOCTOR_H_
#define LRA_EVAL_DOCTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/landmarks.pb.h"
#include "eval/run_record.pb.h"

namespace lra {

// The names of causes, as they are printed.
inline constexpr char kNotStarted[] = "not started or an unlucky seed";
inline constexpr char kWrongData[] = "wrong data";
inline constexpr char kRateTooHigh[] = "learning rate too high";
inline constexpr char kRateTooLow[] = "learning rate too low";
inline constexpr char kMaskedPixels[] = "masked pixels";
inline constexpr char kBrokenLayer[] = "broken layer";
inline constexpr char kOverfit[] = "overfit";
inline constexpr char kDataOrder[] = "data order";
inline constexpr char kWrongPooling[] = "wrong pooling";
inline constexpr char kShuffledLabels[] = "shuffled labels";
inline constexpr char kLabelShift[] = "label shift";
inline constexpr char kFrozenEmbedding[] = "frozen embedding";
inline constexpr char kWrongSplit[] = "wrong split";
inline constexpr char kDroppedBrackets[] = "dropped brackets";
inline constexpr char kNoPositions[] = "zeroed positions";
inline constexpr char kBatchDependence[] = "output depends on the batch";
inline constexpr char kDamagedCheckpoint[] = "damaged checkpoint";
inline constexpr char kDiverged[] = "diverged";
inline constexpr char kSeesAhead[] = "sees what it guesses";

// Facts about the data.
struct DataFacts {
  // Whether the data has the fingerprints that the run recorded.
  bool is_same = false;
  // Whether configs/tasks/ pins fingerprints for this task, and whether this data has them.
  bool has_canonical = false, is_canonical = false;
  // The number of training examples of each label; where tokens are guessed, of training tokens of
  // each id.
  std::vector<int64_t> train_labels;
  int64_t validation_examples = 0;
  // Labels by the task's oracle: [stored label * C + true label] counts of some training examples;
  // empty without an oracle.
  std::vector<int64_t> label_table;
  // Validation accuracy of the task's shortcut, learned from the training split; 0 if there is
  // none.
  double shortcut_accuracy = 0;
  // Length of a training example on average, as the view shows it and as it is stored.
  double tokens_per_example = 0, stored_tokens_per_example = 0;
  // How many of held_out_examples validation and test examples have an input that the training
  // split holds too.
  int64_t leaked_examples = 0, held_out_examples = 0;
  // The share of a training image's values that are 0.
  double zero_share = 0;
  // The share of training examples that show a closing bracket; 1 for tasks without one.
  double bracket_share = 1;
};

// A checkpoint's tensor compared with its initial values, which are a function of seed and name.
struct TensorFacts {
  std::string name;
  bool is_finite = true;
  bool is_zero = false;
  bool was_zero = false;
  // Ratio of L2 norms |now - initial| / |initial|; 0 if the initial values are zeros.
  double change = 0;
};

struct ModelFacts {
  int64_t step = 0;
  std::vector<TensorFacts> tensors;
  // The same ratio for all weights together.
  double change = 0;
  // Whether training began with the initial values, and not with another run's or a stage's.
  bool began_with_initial = true;
  // The largest difference of a logit between an example alone and in a padded batch, and between
  // an example and its tokens in another order, in standard deviations of the logits. Unset where
  // it would mean nothing: for a constant model, where logits are not finite and, of the order,
  // where tokens are guessed.
  std::optional<double> batch_effect, order_effect;
  // Where the next token is guessed: the same when only the guessed token and later ones change.
  std::optional<double> ahead_effect;
  // Whether every example gets the same logits.
  bool is_constant = false;
  bool has_finite_logits = true;
  // Whether the configuration or the attention's traits say that the output depends on the padding.
  bool declares_batch_effect = false;
};

struct DoctorCase {
  RunRecord run;
  bool is_finished = false;
  std::optional<DataFacts> data;
  std::optional<ModelFacts> model;
  // Why the checkpoint's bytes are not those that were written; empty if they are.
  std::string damage;
  Landmarks landmarks;
};

struct Finding {
  enum Strength {
    kHint = 1,    // the curve looks like it
    kLikely = 2,  // a setting or a comparison with a landmark explains the curve
    kProven = 3,  // the data or the weights themselves show it
  };
  std::string cause;
  Strength strength = kHint;
  std::string observed, expected;
  // Where the expectation comes from.
  std::string landmark;
  // What to do: the field to set, or the command to run.
  std::string fix;
};

struct Diagnosis {
  // Findings by falling strength; equal ones are in the order of the rules.
  std::vector<Finding> findings;
  // What could not be examined, and facts that the run should be compared with.
  std::vector<std::string> notes;
};

// InvalidArgument for what is no run, has no curve or has unknown classes.
absl::StatusOr<Diagnosis> Diagnose(const DoctorCase& facts);

// Loads configs/doctor/landmarks.textproto and configs/doctor/curves.textproto.
absl::StatusOr<Landmarks> LoadLandmarks();

const char* StrengthName(Finding::Strength strength);

}  // namespace lra

#endif  // LRA_EVAL_DOCTOR_H_
