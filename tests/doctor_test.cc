// Twelve planted faults and five sound runs: does `lra doctor` name the cause? Faults are planted
// in the data, in the configuration, or in the models that the program makes
// (TrainRequest::make_classifier and CaseRequest::make_classifier), so that it trains and diagnoses
// with the same bug. Prints the rows of docs/diagnosis.md's table.
#include "eval/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "c10/core/GradMode.h"
#include "datasets/data_test_util.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "inspect/doctor_case.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"
#include "models/classifier.h"
#include "models/factorized/factorized_attention.h"
#include "tasks/prepare.h"
#include "tasks/task_facts.h"
#include "train/trainer.h"

namespace lra {
namespace {

// --- Faulty models ---

constexpr char kFaultyCosformer[] = "cosformer_of_batch_length";

// cosFormer whose M is the length of the batch at hand, padding included.
class BatchLengthCosformer : public Attention {
 public:
  BatchLengthCosformer() : traits_(Of(1).traits()) {}
  const Traits& traits() const override { return traits_; }
  at::Tensor Attend(const AttentionInput& input) const override {
    return Of(input.k.size(2)).Attend(input);
  }
  at::Tensor Oracle(const AttentionInput& input) const override {
    return Of(input.k.size(2)).Oracle(input);
  }

 private:
  // They outlive the backward pass.
  const Attention& Of(int64_t tokens) const {
    std::unique_ptr<Attention>& attention = by_length_[tokens];
    if (attention == nullptr) {
      FactorizedSpec spec;
      spec.feature = FactorizedFeature::kRelu;
      spec.reweighting = Reweighting::kCosine;
      spec.normalizer = RowNormalizer::kClamp;
      spec.epsilon = 1e-6;
      spec.scale_tokens = tokens;
      attention = MakeFactorized(std::move(spec), AttentionContext(), Traits());
    }
    return *attention;
  }
  mutable std::map<int64_t, std::unique_ptr<Attention>> by_length_;
  const Traits traits_;
};

LRA_REGISTER(AttentionRegistry, kFaultyCosformer, [](const AttentionContext&) {
  return absl::StatusOr<std::unique_ptr<Attention>>(std::make_unique<BatchLengthCosformer>());
});

absl::StatusOr<std::unique_ptr<Classifier>> WithBatchLength(const ExperimentConfig& config,
                                                            const TaskSpec& spec) {
  ExperimentConfig faulty = config;
  faulty.mutable_attention()->set_name(kFaultyCosformer);
  return CreateClassifier(faulty, spec);
}

constexpr char kUnmasked[] = "linear_without_a_mask";

// Linear attention that is asked for its causal form and gives the other.
class UnmaskedLinear : public Attention {
 public:
  explicit UnmaskedLinear(std::unique_ptr<Attention> linear) : linear_(std::move(linear)) {}
  const Traits& traits() const override { return linear_->traits(); }
  at::Tensor Attend(const AttentionInput& input) const override {
    AttentionInput open = input;
    open.causal = false;
    return linear_->Attend(open);
  }
  at::Tensor Oracle(const AttentionInput& input) const override { return Attend(input); }

 private:
  const std::unique_ptr<Attention> linear_;
};

LRA_REGISTER(AttentionRegistry, kUnmasked,
             [](const AttentionContext& context) -> absl::StatusOr<std::unique_ptr<Attention>> {
               auto linear = AttentionRegistry::Get().Create("attention", "linear", context);
               if (!linear.ok()) return linear.status();
               return std::make_unique<UnmaskedLinear>(*std::move(linear));
             });

absl::StatusOr<std::unique_ptr<Classifier>> WithoutMask(const ExperimentConfig& config,
                                                        const TaskSpec& spec) {
  ExperimentConfig faulty = config;
  faulty.mutable_attention()->set_name(kUnmasked);
  return CreateClassifier(faulty, spec);
}

// The parameter's gradient is lost; `edit` changes its initial value.
absl::StatusOr<std::unique_ptr<Classifier>> WithFrozen(
    const std::string& name, const ExperimentConfig& config, const TaskSpec& spec,
    const std::function<void(const at::Tensor&)>& edit) {
  auto model = CreateClassifier(config, spec);
  if (!model.ok()) return model;
  for (const Parameter& parameter : (*model)->parameters().parameters()) {
    if (parameter.name != name) continue;
    edit(parameter.value);
    parameter.value.register_hook([](const at::Tensor& gradient) { return gradient * 0; });
  }
  return model;
}

absl::StatusOr<std::unique_ptr<Classifier>> WithFrozenEmbedding(const ExperimentConfig& config,
                                                                const TaskSpec& spec) {
  return WithFrozen("embedding.token.weight", config, spec, [](const at::Tensor&) {});
}

absl::StatusOr<std::unique_ptr<Classifier>> WithZeroedPositions(const ExperimentConfig& config,
                                                                const TaskSpec& spec) {
  return WithFrozen("embedding.position.weight", config, spec, [](const at::Tensor& value) {
    c10::NoGradGuard no_grad;
    value.zero_();
  });
}

// --- Faulty data ---

using Examples = std::vector<EncodedExample>;

std::unique_ptr<TestFolder> home;  // the suite's

std::string Folder(const std::string& name) { return home->File(name); }

void PrepareData(const std::string& name, const std::string& task,
                 const std::vector<std::string>& sets) {
  PrepareOptions options;
  options.task = task;
  options.out = Folder(name);
  options.quiet = true;
  options.set = sets;
  const auto result = Prepare(options);
  ASSERT_TRUE(result.ok()) << result.status();
}

// A copy of the ListOps data whose splits (train, validation, test) were changed, in a folder of
// its own.
void EditData(const std::string& name, const std::function<void(std::vector<TestSplit>*)>& edit) {
  const auto data = Dataset::Open(Folder("listops"), {});
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<TestSplit> splits;
  for (const ManifestSplit& split : data->manifest().splits()) {
    TestSplit& copy = splits.emplace_back(TestSplit{split.name(), {}});
    const internal::MappedSplit& stored = *data->split(split.name());
    for (int64_t i = 0; i < stored.examples; ++i) copy.examples.push_back(stored.Read(i));
  }
  edit(&splits);
  Manifest manifest = WriteTestData(Folder(name), data->spec(), splits);
  manifest.set_origin(data->manifest().origin());
  *manifest.mutable_options() = data->manifest().options();
  ASSERT_TRUE(WriteManifest(Folder(name), manifest).ok());
}

struct Planted {
  std::string name;   // names the run's folder and the table's row
  std::string cause;  // empty if no cause must be found
  std::vector<std::string> sets = {};
  ClassifierFactory make_classifier = CreateClassifier;
  std::string data = "listops", attention = "linear";
  std::string task = "listops";
};

// The quickstart's settings with one layer; for images, those of the protocol.
absl::StatusOr<ResolvedConfig> Resolve(const Planted& planted) {
  ConfigBuilder builder(planted.task);
  std::vector<std::string> sets = {"model.layers=1", "train.log_every_steps=10",
                                   "train.eval_every_steps=40"};
  if (planted.task == "listops") {
    sets.insert(sets.end(), {"model.pooling=FIRST", "schedule.learning_rate=2e-3",
                             "train.steps=120", "train.batch_examples=32"});
  } else {
    sets.insert(sets.end(), {"train.steps=20", "train.batch_examples=4"});
  }
  sets.insert(sets.end(), planted.sets.begin(), planted.sets.end());
  if (absl::Status s = builder.AddProtocol("fair"); !s.ok()) return s;
  if (absl::Status s = builder.AddPreset("small"); !s.ok()) return s;
  if (absl::Status s = builder.AddAttention(planted.attention); !s.ok()) return s;
  for (const std::string& set : sets) {
    if (absl::Status s = builder.Set(set); !s.ok()) return s;
  }
  return builder.Build();
}

absl::StatusOr<Diagnosis> TrainAndDiagnose(const Planted& planted) {
  TrainRequest request;
  const auto resolved = Resolve(planted);
  if (!resolved.ok()) return resolved.status();
  request.resolved = *resolved;
  request.runtime.set_quiet(true);
  request.runtime.set_threads(1);
  request.runtime.set_data_dir(Folder(planted.data));
  request.runtime.set_out_dir(Folder("runs/" + planted.name));
  request.make_classifier = planted.make_classifier;
  const auto record = TrainRun(request);
  if (!record.ok()) return record.status();
  const auto gathered = GatherCase({.run = request.runtime.out_dir(),
                                    .data_dir = request.runtime.data_dir(),
                                    .knowledge_of = KnowledgeOfTask,
                                    .threads = 1,
                                    .make_classifier = planted.make_classifier});
  if (!gathered.ok()) return gathered.status();
  EXPECT_THAT(gathered->notes, testing::IsEmpty());
  return Diagnose(gathered->facts);
}

std::string Row(const Planted& planted, const Diagnosis& diagnosis) {
  if (diagnosis.findings.empty())
    return "| " + planted.name + " | nothing | " + diagnosis.notes[0] + " |";
  const Finding& first = diagnosis.findings.front();
  std::string row = "| " + planted.name + " | " + first.cause + " (" +
                    StrengthName(first.strength) + ") | " + first.observed + " |";
  for (size_t i = 1; i < diagnosis.findings.size(); ++i) {
    row += (i == 1 ? " then: " : ", ") + diagnosis.findings[i].cause;
  }
  return row;
}

// Prints a case in GoogleTest's messages.
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class DoctorTest : public testing::TestWithParam<Planted> {
 protected:
  static void SetUpTestSuite() {
    home = std::make_unique<TestFolder>();
    PrepareData("listops", "listops",
                {"min_length_tokens=200", "max_length_tokens=400", "train_examples=3000",
                 "validation_examples=200", "test_examples=200"});
    PrepareData("pathfinder32", "pathfinder32", {"images=200"});
    PrepareData("copy", "copy",
                {"train_examples=600", "validation_examples=60", "test_examples=60"});
    EditData("shuffled", [](std::vector<TestSplit>* splits) {
      Examples& train = splits->front().examples;
      RandomStream random(1, RandomDomain::kTest, {0, 0, 0});
      for (size_t i = train.size() - 1; i > 0; --i) {
        std::swap(train[i].label, train[random.Below(static_cast<uint32_t>(i) + 1)].label);
      }
    });
    EditData("shifted", [](std::vector<TestSplit>* splits) {
      for (TestSplit& split : *splits) {
        for (EncodedExample& example : split.examples) example.label = (example.label + 1) % 10;
      }
    });
    EditData("leaked", [](std::vector<TestSplit>* splits) {
      Examples& validation = (*splits)[1].examples;
      const Examples& train = splits->front().examples;
      validation.assign(train.begin(), train.begin() + static_cast<int64_t>(validation.size()));
    });
  }
  static void TearDownTestSuite() { home.reset(); }
};

TEST_P(DoctorTest, NamesTheCause) {
  const Planted& planted = GetParam();
  const auto diagnosis = TrainAndDiagnose(planted);
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  std::cout << Row(planted, *diagnosis) << std::endl;
  const std::string named = diagnosis->findings.empty() ? "" : diagnosis->findings.front().cause;
  EXPECT_EQ(named, planted.cause);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, DoctorTest,
    testing::Values(
        Planted{"sound", ""},
        Planted{"sound_cosformer", "", {}, CreateClassifier, "listops", "cosformer"},
        Planted{"sound_copy", "", {}, CreateClassifier, "copy", "linear", "copy"},
        // What they compute of a token moves by rounding when later ones change.
        Planted{"sound_copy_s4d", "", {}, CreateClassifier, "copy", "s4d", "copy"},
        Planted{"sound_copy_performer", "", {}, CreateClassifier, "copy", "performer", "copy"},
        Planted{"sees_ahead", kSeesAhead, {}, WithoutMask, "copy", "linear", "copy"},
        Planted{"wrong_pooling", kWrongPooling, {"model.pooling=MEAN"}},
        Planted{"shuffled_labels", kShuffledLabels, {}, CreateClassifier, "shuffled"},
        Planted{"learning_rate_x30", kRateTooHigh, {"schedule.learning_rate=6e-2"}},
        // So high that the model becomes constant, which says nothing about its positions.
        Planted{"learning_rate_x500", kRateTooHigh, {"schedule.learning_rate=1"}},
        Planted{"masked_pixels",
                kMaskedPixels,
                {"view.pixels=IDS", "view.zero_is_padding=true"},
                CreateClassifier,
                "pathfinder32",
                "linear",
                "pathfinder32"},
        Planted{"m_is_batch_length", kBatchDependence, {}, WithBatchLength, "listops", "cosformer"},
        Planted{"frozen_embedding", kFrozenEmbedding, {}, WithFrozenEmbedding},
        Planted{"wrong_split", kWrongSplit, {}, CreateClassifier, "leaked"},
        Planted{"label_shift", kLabelShift, {}, CreateClassifier, "shifted"},
        Planted{"dropped_brackets", kDroppedBrackets, {"view.brackets=NONE"}},
        Planted{
            "zeroed_positions", kNoPositions, {"model.positions=LEARNED"}, WithZeroedPositions}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lra
