// What the program makes of attentions that are not its own: of records of attentions in Python,
// which it cannot make, and of an attention that fails in the middle of a run.
#include "lra/python_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/status_error.h"
#include "lra/status_macros.h"
#include "models/attention/python.pb.h"
#include "models/classifier.h"
#include "models/interface/create.h"
#include "run_folder/checkpoint.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

constexpr char kFailing[] = "failing_for_test";

// Calls of the failing attention, and which of them fails; 0 = none.
int calls = 0, fails_at = 0;

// Linear attention that fails once, as an attention in Python does that raises.
class Failing : public Attention {
 public:
  explicit Failing(std::unique_ptr<Attention> linear) : linear_(std::move(linear)) {}
  const Traits& traits() const override { return linear_->traits(); }
  at::Tensor Attend(const AttentionInput& input) const override {
    if (++calls == fails_at) throw StatusError(absl::AbortedError("failing: no such luck"));
    return linear_->Attend(input);
  }
  at::Tensor Oracle(const AttentionInput& input) const override { return linear_->Oracle(input); }

 private:
  std::unique_ptr<Attention> linear_;
};

LRA_REGISTER(AttentionRegistry, kFailing,
             [](const AttentionContext& context) -> absl::StatusOr<std::unique_ptr<Attention>> {
               LRA_ASSIGN_OR_RETURN(auto linear, CreateAttention("linear", context));
               return std::make_unique<Failing>(std::move(linear));
             });

class FailingAttentionTest : public TrainerTest {
 protected:
  // 20 steps, validated at 10 and 20: a batch of 8 a call, of 40 validation examples 5.
  static TrainRequest Of(const std::string& name, bool resume = false) {
    TrainRequest request = Request(name, "linear", {});
    request.resolved.config.mutable_attention()->set_name(kFailing);
    request.resume = resume;
    calls = 0;
    return request;
  }

  static std::string Weights(const std::string& name) {
    const std::string file = *folder_ + "/" + name + "/checkpoint/step-20/weights.safetensors";
    return ReadFile(file).value();
  }

  // The run fails at a call, leaves a checkpoint of `step`, and goes on as if nothing had been.
  static void ExpectKept(const std::string& name, int at, int64_t step) {
    fails_at = at;
    const auto failed = TrainRun(Of(name));
    EXPECT_TRUE(absl::IsAborted(failed.status())) << failed.status();
    EXPECT_THAT(std::string(failed.status().message()), HasSubstr("failing: no such luck"));
    const auto latest = LatestCheckpoint(*folder_ + "/" + name);
    ASSERT_TRUE(latest.ok()) << latest.status();
    EXPECT_EQ(LoadCheckpointState(*latest)->step(), step) << name;
    fails_at = 0;
    const auto resumed = TrainRun(Of(name, true));
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(Weights(name), Weights("whole")) << name;
  }
};

TEST_F(FailingAttentionTest, KeepsWhatWasTrainedBefore) {
  fails_at = 0;
  ASSERT_TRUE(TrainRun(Of("whole")).ok());
  const int of_scores = 2 * 5, before = calls - 20 - 2 * 5;
  const auto one_score = before >= of_scores ? of_scores : of_scores / 2;
  const int probes = before - one_score;
  ExpectKept("in-a-step", probes + 7, 6);
  ExpectKept("in-a-validation", probes + 10 + 2, 10);
  ExpectKept("behind-a-validation", probes + 10 + 5 + 1, 10);
}

TEST_F(FailingAttentionTest, ARunThatWasNeverTrainedLeavesNoCheckpoint) {
  fails_at = 1;
  EXPECT_EQ(TrainRun(Of("never")).status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(absl::IsNotFound(LatestCheckpoint(*folder_ + "/never").status()));
}

// --- Records of attentions in Python ---

ExperimentConfig PythonConfig() {
  ExperimentConfig config =
      ResolveExperiment({.task = "listops", .attention = "linear", .preset = "smoke"})->config;
  PythonOptions options;
  options.set_name("mine");
  options.set_function("my_package.mine");
  options.set_source_sha256("0123");
  config.mutable_attention()->set_name(kPythonAttention);
  config.mutable_attention()->mutable_options()->PackFrom(options);
  return config;
}

TEST(PythonAttentionTest, IsNamedByItsFunction) {
  const ExperimentConfig config = PythonConfig();
  EXPECT_EQ(MethodOf(config), "python-mine");
  EXPECT_THAT(ExperimentName(config),
              testing::MatchesRegex("listops-python-mine-smoke-[0-9a-f]+-s0"));
}

TEST(PythonAttentionTest, WhoeverWouldMakeOneIsToldWhatToCall) {
  const std::string words = "(my_package.mine) lives in Python, where this program cannot call it";
  TaskSpec spec;
  spec.set_vocabulary_size(20);
  spec.set_classes(10);
  const absl::Status made = Classifier::Create(PythonConfig(), spec).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(made));
  EXPECT_THAT(std::string(made.message()), HasSubstr(words));
  EXPECT_THAT(std::string(made.message()), HasSubstr("lra.train(config, attention=..., out=RUN"));
  const absl::Status chosen =
      ResolveExperiment({.task = "listops", .attention = kPythonAttention}).status();
  EXPECT_THAT(std::string(chosen.message()), HasSubstr("lra.train("));
}

TEST(InterruptionTest, AStopCanBeForgotten) {
  RequestStop();
  EXPECT_TRUE(StopRequested());
  ForgetStopRequest();
  EXPECT_FALSE(StopRequested());
}

}  // namespace
}  // namespace lra
