// `lra doctor`: facts about a run -> the causes that they point to, the likeliest first.
//
// A pure function: facts of the data and of the weights are gathered by eval/doctor_data.h and
// train/model_facts.h, where there are any. Each rule is a few lines in eval/doctor_rules*.cc;
// docs/diagnosis.md says what each looks at and which planted faults it names.
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

// Names of causes as printed.
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

// What a look at the data says.
struct DataFacts {
  // The data has the fingerprints that the run recorded.
  bool is_same = false;
  // configs/tasks/ pins fingerprints of this task; this data has them.
  bool has_canonical = false, is_canonical = false;
  // Examples by label.
  std::vector<int64_t> train_labels, validation_labels;
  // By the task's oracle: [stored label * C + true label] of some training examples; empty without
  // one.
  std::vector<int64_t> label_table;
  // Validation accuracy of the task's shortcut, learnt from the training split; 0 = it has none.
  double shortcut_accuracy = 0;
  // Training examples as the view shows them, and as they are stored.
  double tokens_per_example = 0, stored_tokens_per_example = 0;
  // Examples of validation and test whose input the training split holds too, of so many.
  int64_t leaked_examples = 0, held_out_examples = 0;
  // Share of a training image's values that are 0.
  double zero_share = 0;
  // Share of training examples that show a closing bracket; 1 for tasks without one.
  double bracket_share = 1;
};

// What a checkpoint's weights say, against their initial values (a function of seed and name).
struct TensorFacts {
  std::string name;
  bool is_finite = true;
  bool is_zero = false;
  bool was_zero = false;
  // L2 norms |now - initial| / |initial|; 0 where the initial values are zeros.
  double change = 0;
};

struct ModelFacts {
  int64_t step = 0;
  std::vector<TensorFacts> tensors;
  // Of all weights together.
  double change = 0;
  // Largest difference of a logit between an example alone and in a padded batch, and between an
  // example and its tokens in another order; in standard deviations of the logits. Unset where
  // they would say nothing: for a constant model, and where logits are not finite.
  std::optional<double> batch_effect, order_effect;
  // Every example gets the same logits.
  bool is_constant = false;
  bool has_finite_logits = true;
  // The configuration or the attention's traits say that the output depends on the padding.
  bool declares_batch_effect = false;
};

struct DoctorCase {
  RunRecord run;
  bool is_finished = false;
  std::optional<DataFacts> data;
  std::optional<ModelFacts> model;
  // Why the checkpoint's bytes are not those that were written; empty where they are.
  std::string damage;
  Landmarks landmarks;
};

struct Finding {
  enum Strength {
    kHint = 1,    // the curve looks like it
    kLikely = 2,  // a setting or a comparison with a landmark explains the curve
    kProven = 3,  // seen in data or weights themselves
  };
  std::string cause;
  Strength strength = kHint;
  std::string observed, expected;
  // Where the expectation is from.
  std::string landmark;
  // What to do: the switch to set, the command to run.
  std::string fix;
};

struct Diagnosis {
  // By falling strength; equal ones in the order of the rules.
  std::vector<Finding> findings;
  // What could not be looked at, and lines that the run should be read against.
  std::vector<std::string> notes;
};

// InvalidArgument for a run without a curve or of unknown classes.
absl::StatusOr<Diagnosis> Diagnose(const DoctorCase& facts);

// configs/doctor/landmarks.textproto and curves.textproto.
absl::StatusOr<Landmarks> LoadLandmarks();

const char* StrengthName(Finding::Strength strength);

}  // namespace lra

#endif  // LRA_EVAL_DOCTOR_H_
