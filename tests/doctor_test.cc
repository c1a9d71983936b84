// Ten planted faults and a sound run: does `lra doctor` name the cause? Faults are planted in the
// data, in the configuration, or by the linker (--wrap) in the program itself, which then trains
// and diagnoses with the same bug. Prints the rows of docs/diagnosis.md's table.
#include "eval/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "c10/core/GradMode.h"
#include "cli/doctor_case.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "datasets/test_data.h"
#include "lra/config.h"
#include "lra/random.h"
#include "models/classifier.h"
#include "models/factorized/positions.h"
#include "tasks/prepare.h"
#include "train/trainer.h"

namespace lra {

// What the linker puts in the place of two functions of the program.
enum class Fault { kNone, kFrozenEmbedding, kZeroedPositions, kBatchLength };
Fault fault = Fault::kNone;

absl::StatusOr<std::unique_ptr<Classifier>>
RealCreate(const ExperimentConfig& config, const TaskSpec& spec) __asm__(
    "__real__ZN3lra10Classifier6CreateERKNS_16ExperimentConfigERKNS_8TaskSpecE");
absl::StatusOr<std::unique_ptr<Classifier>>
FaultyCreate(const ExperimentConfig& config, const TaskSpec& spec) __asm__(
    "__wrap__ZN3lra10Classifier6CreateERKNS_16ExperimentConfigERKNS_8TaskSpecE");
at::Tensor
RealAngles(const FactorizedSpec& spec, const AttentionInput& input, int64_t n, int64_t offset) __asm__(
    "__real__ZN3lra10factorized6AnglesERKNS_14FactorizedSpecERKNS_14AttentionInputEll");
at::Tensor
FaultyAngles(const FactorizedSpec& spec, const AttentionInput& input, int64_t n, int64_t offset) __asm__(
    "__wrap__ZN3lra10factorized6AnglesERKNS_14FactorizedSpecERKNS_14AttentionInputEll");

absl::StatusOr<std::unique_ptr<Classifier>> FaultyCreate(const ExperimentConfig& config,
                                                         const TaskSpec& spec) {
  auto model = RealCreate(config, spec);
  if (!model.ok()) return model;
  const std::string stopped = fault == Fault::kFrozenEmbedding   ? "embedding.token.weight"
                              : fault == Fault::kZeroedPositions ? "embedding.position.weight"
                                                                 : "";
  for (const Parameter& parameter : (*model)->parameters().parameters()) {
    if (parameter.name != stopped) continue;
    if (fault == Fault::kZeroedPositions) {
      c10::NoGradGuard no_grad;
      parameter.value.zero_();
    }
    parameter.value.register_hook([](const at::Tensor& gradient) { return gradient * 0; });
  }
  return model;
}

at::Tensor FaultyAngles(const FactorizedSpec& spec, const AttentionInput& input, int64_t n,
                        int64_t offset) {
  if (fault != Fault::kBatchLength) return RealAngles(spec, input, n, offset);
  FactorizedSpec faulty = spec;
  faulty.scale_tokens = input.k.size(2);
  return RealAngles(faulty, input, n, offset);
}

namespace {

using Examples = std::vector<EncodedExample>;

std::string Folder(const std::string& name) { return testing::TempDir() + "/doctor_test/" + name; }

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

// The ListOps data with its splits (train, validation, test) changed, in a folder of its own.
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
  std::string name;   // of the run's folder and the table's row
  std::string cause;  // empty: none must be found
  std::vector<std::string> sets = {};
  Fault fault = Fault::kNone;
  std::string data = "listops", attention = "linear";
  std::string task = "listops";
};

// The quickstart's settings with one layer; of images as the protocol has it.
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
  const auto record = TrainRun(request);
  if (!record.ok()) return record.status();
  std::vector<std::string> failures;
  const auto facts =
      GatherCase(request.runtime.out_dir(), request.runtime.data_dir(), true, 1, &failures);
  if (!facts.ok()) return facts.status();
  EXPECT_THAT(failures, testing::IsEmpty());
  return Diagnose(*facts);
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

// For GoogleTest's messages.
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class DoctorTest : public testing::TestWithParam<Planted> {
 protected:
  static void SetUpTestSuite() {
    std::filesystem::remove_all(Folder(""));
    PrepareData("listops", "listops",
                {"min_length_tokens=200", "max_length_tokens=400", "train_examples=3000",
                 "validation_examples=200", "test_examples=200"});
    PrepareData("pathfinder32", "pathfinder32", {"images=200"});
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
};

TEST_P(DoctorTest, NamesTheCause) {
  const Planted& planted = GetParam();
  fault = planted.fault;
  const auto diagnosis = TrainAndDiagnose(planted);
  fault = Fault::kNone;
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  std::cout << Row(planted, *diagnosis) << std::endl;
  const std::string named = diagnosis->findings.empty() ? "" : diagnosis->findings.front().cause;
  EXPECT_EQ(named, planted.cause);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, DoctorTest,
    testing::Values(
        Planted{"sound", ""},
        Planted{"sound_cosformer", "", {}, Fault::kNone, "listops", "cosformer"},
        Planted{"wrong_pooling", kWrongPooling, {"model.pooling=MEAN"}},
        Planted{"shuffled_labels", kShuffledLabels, {}, Fault::kNone, "shuffled"},
        Planted{"learning_rate_x30", kRateTooHigh, {"schedule.learning_rate=6e-2"}},
        // So high that the model is constant, which says nothing of its positions.
        Planted{"learning_rate_x500", kRateTooHigh, {"schedule.learning_rate=1"}},
        Planted{"masked_pixels",
                kMaskedPixels,
                {"view.pixels=IDS", "view.zero_is_padding=true"},
                Fault::kNone,
                "pathfinder32",
                "linear",
                "pathfinder32"},
        Planted{
            "m_is_batch_length", kBatchDependence, {}, Fault::kBatchLength, "listops", "cosformer"},
        Planted{"frozen_embedding", kFrozenEmbedding, {}, Fault::kFrozenEmbedding},
        Planted{"wrong_split", kWrongSplit, {}, Fault::kNone, "leaked"},
        Planted{"label_shift", kLabelShift, {}, Fault::kNone, "shifted"},
        Planted{"dropped_brackets", kDroppedBrackets, {"view.brackets=NONE"}},
        Planted{"zeroed_positions",
                kNoPositions,
                {"model.positions=LEARNED"},
                Fault::kZeroedPositions}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lra
