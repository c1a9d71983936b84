// Tests of runs that start from another run's encoder: what is taken, what is refused, and that the
// rest of the run is any run's.
#include "train/initial_encoder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/manifest.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "run_folder/find_checkpoint.h"
#include "run_folder/run_folder.h"
#include "tests/training_fixture.h"
#include "train/trainable.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;
using Tensors = std::map<std::string, at::Tensor>;

class InitialEncoderTest : public TrainerTest {
 protected:
  // Trains a run of another seed and returns its checkpoint.
  static std::string Trained(const std::string& name, const std::string& attention,
                             std::vector<std::string> sets = {}) {
    sets.insert(sets.begin(), {"train.steps=4", "train.eval_every_steps=4", "seed=7"});
    const TrainRequest request = Request(name, attention, sets);
    const auto record = TrainRun(request);
    EXPECT_TRUE(record.ok()) << record.status();
    return FindCheckpoint(request.runtime.out_dir()).value_or("");
  }

  static TrainRequest From(const std::string& checkpoint, const std::string& name,
                           const std::string& attention,
                           const std::vector<std::string>& sets = {}) {
    TrainRequest request = Request(name, attention, sets);
    request.start_checkpoint = checkpoint;
    const auto state = LoadCheckpointState(checkpoint);
    EXPECT_TRUE(state.ok()) << state.status();
    request.resolved.config.set_encoder_weights_sha256(state->weights_sha256());
    return request;
  }

  static Tensors TensorsOf(const std::string& checkpoint) {
    const auto tensors = ReadWeights(checkpoint, *LoadCheckpointState(checkpoint));
    EXPECT_TRUE(tensors.ok()) << tensors.status();
    return Tensors(tensors->begin(), tensors->end());
  }

  // The values with which a run begins.
  static Tensors Begins(const TrainRequest& request, InitialEncoder* taken = nullptr) {
    const auto run = OpenRun(request);
    EXPECT_TRUE(run.ok()) << run.status();
    if (!run.ok()) return {};
    if (taken != nullptr) *taken = (*run)->state.initial_encoder();
    Tensors tensors;
    const ParameterStore& store = (*run)->model->parameters();
    for (const auto* list : {&store.parameters(), &store.buffers()})
      for (const Parameter& parameter : *list)
        tensors[parameter.name] = parameter.value.detach().clone();
    return tensors;
  }

  static std::string Refusal(const TrainRequest& request) {
    const absl::Status status = OpenRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_FALSE(HoldsRun(request.runtime.out_dir()));
    return std::string(status.message());
  }
};

bool IsHead(const std::string& name) { return name.rfind("head.", 0) == 0; }

// Each tensor is that of the other run or the initial one, and which of both is said.
TEST_F(InitialEncoderTest, TheEncoderIsTheOtherRunsAndTheHeadIsNew) {
  const std::string checkpoint = Trained("origin", "transformer");
  InitialEncoder taken;
  const Tensors there = TensorsOf(checkpoint);
  const Tensors fresh = Begins(Request("scratch", "linear", {}));
  const Tensors here = Begins(From(checkpoint, "swap", "linear"), &taken);
  ASSERT_EQ(here.size(), fresh.size());
  int heads = 0;
  int64_t values = 0;
  for (const auto& [name, value] : here) {
    const bool is_head = IsHead(name);
    EXPECT_TRUE(at::equal(value, is_head ? fresh.at(name) : there.at(name))) << name;
    EXPECT_EQ(is_head, testing::Value(taken.fresh(), Contains(name))) << name;
    EXPECT_EQ(is_head, testing::Value(taken.left(), Contains(name))) << name;
    heads += is_head ? 1 : 0;
    values += is_head ? 0 : value.numel();
  }
  EXPECT_GT(heads, 0);
  EXPECT_EQ(taken.taken(), static_cast<int>(here.size()) - heads);
  EXPECT_EQ(taken.taken_values(), values);
  EXPECT_EQ(taken.task(), "listops");
  EXPECT_EQ(taken.method(), "transformer");
  EXPECT_EQ(taken.seed(), 7u);
  EXPECT_EQ(taken.step(), 4);
  EXPECT_THAT(DescribeInitialEncoder(taken),
              HasSubstr("listops, transformer, seed 7, step 4: " + std::to_string(taken.taken()) +
                        " tensors ("));
}

// What labels begin with after pretraining is what a run from the pretrained encoder begins with,
// and all else is equal: both runs end in the same bits.
TEST_F(InitialEncoderTest, FromAPretrainedEncoderARunIsThatOfBothStages) {
  const TrainRequest both =
      Request("both", "linear",
              {"pretrain.objective=MASKED", "pretrain.examples=64", "pretrain.learning_rate=5e-3",
               "pretrain.masked_fraction=0.2", "pretrain.until=NOTHING", "train.steps=5"});
  const auto whole = TrainRun(both);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto encoder = FindCheckpoint(JoinPath(both.runtime.out_dir(), kPretrainFolder));
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const TrainRequest second = From(*encoder, "second", "linear", {"train.steps=5"});
  const auto record = TrainRun(second);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_THAT(record->initial_encoder().left(),
              UnorderedElementsAre("pretrain.head.weight", "pretrain.head.bias"));
  const Tensors a = TensorsOf(CheckpointPath(both.runtime.out_dir(), 5));
  const Tensors b = TensorsOf(CheckpointPath(second.runtime.out_dir(), 5));
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) EXPECT_TRUE(at::equal(value, b.at(name))) << name;
  EXPECT_EQ(whole->results(0).loss_sum(), record->results(0).loss_sum());
}

// Next tokens are guessed under a vector in front, which a mean over tokens has not.
TEST_F(InitialEncoderTest, LabelsFollowTokens) {
  const std::string checkpoint =
      Trained("tokens", "cosformer",
              {"view.target=NEXT", "attention.causal=true", "model.positions=LEARNED"});
  InitialEncoder taken;
  const std::vector<std::string> sets = {"model.positions=LEARNED", "model.pooling=MEAN"};
  const Tensors here = Begins(From(checkpoint, "labels", "cosformer", sets), &taken);
  const Tensors there = TensorsOf(checkpoint);
  EXPECT_THAT(taken.left(), Contains("embedding.cls"));
  // Its first position is that of the vector in front.
  const std::string positions = "embedding.position.weight";
  const int64_t rows = here.at(positions).size(0);
  ASSERT_EQ(there.at(positions).size(0), rows + 1);
  EXPECT_TRUE(at::equal(here.at(positions), there.at(positions).narrow(0, 1, rows)));
  EXPECT_TRUE(at::equal(here.at("embedding.token.weight"), there.at("embedding.token.weight")));
}

// The id that hides tokens stands behind all others: it stays behind, or begins anew. Where tokens
// are hidden nothing stands in front of them, whatever pooling says.
TEST_F(InitialEncoderTest, HiddenTokensAndLabelsReadTheSameIds) {
  const std::string tokens = "embedding.token.weight", positions = "embedding.position.weight";
  const std::vector<std::string> labels = {"model.positions=LEARNED", "model.pooling=CLS"};
  std::vector<std::string> hidden = labels;
  hidden.emplace_back("view.target=MASKED");
  const std::string of_hidden = Trained("hidden-origin", "linear", hidden);
  const Tensors there = TensorsOf(of_hidden);
  InitialEncoder taken;
  const Tensors here = Begins(From(of_hidden, "hidden-labels", "linear", labels), &taken);
  ASSERT_EQ(there.count("embedding.cls"), 0u);
  EXPECT_THAT(taken.fresh(), Contains("embedding.cls"));
  EXPECT_THAT(taken.left(), UnorderedElementsAre("head.logits.weight", "head.logits.bias"));
  const int64_t ids = here.at(tokens).size(0), rows = there.at(positions).size(0);
  ASSERT_EQ(there.at(tokens).size(0), ids + 1);
  EXPECT_TRUE(at::equal(here.at(tokens), there.at(tokens).narrow(0, 0, ids)));
  ASSERT_EQ(here.at(positions).size(0), rows + 1);
  EXPECT_TRUE(at::equal(here.at(positions).narrow(0, 1, rows), there.at(positions)));

  const std::string of_labels = Trained("hidden-of-labels", "linear", labels);
  const Tensors theirs = TensorsOf(of_labels);
  const Tensors fresh = Begins(Request("hidden-scratch", "linear", hidden));
  const Tensors back = Begins(From(of_labels, "hidden-back", "linear", hidden), &taken);
  EXPECT_THAT(taken.left(), Contains("embedding.cls"));
  ASSERT_EQ(back.at(tokens).size(0), ids + 1);
  EXPECT_TRUE(at::equal(back.at(tokens).narrow(0, 0, ids), theirs.at(tokens)));
  EXPECT_TRUE(at::equal(back.at(tokens)[ids], fresh.at(tokens)[ids]));
  EXPECT_TRUE(at::equal(back.at(positions), theirs.at(positions).narrow(0, 1, rows)));

  const Tensors again = Begins(From(of_hidden, "hidden-again", "linear", hidden));
  EXPECT_TRUE(at::equal(again.at(tokens), there.at(tokens)));
}

TEST_F(InitialEncoderTest, LearnedPositionsAreThoseOfTheirTokens) {
  const std::string positions = "embedding.position.weight";
  const std::string learned = "model.positions=LEARNED";
  const std::string checkpoint = Trained("learned", "linear", {learned, "model.pooling=MEAN"});
  const at::Tensor there = TensorsOf(checkpoint).at(positions);
  // A vector in front takes the first row, which the other run has not.
  const std::vector<std::string> in_front = {learned, "model.pooling=CLS",
                                             "view.max_length_tokens=40"};
  const Tensors fresh = Begins(Request("learned-scratch", "linear", in_front));
  const at::Tensor here = Begins(From(checkpoint, "learned-cls", "linear", in_front)).at(positions);
  ASSERT_EQ(here.size(0), 41);
  EXPECT_TRUE(at::equal(here[0], fresh.at(positions)[0]));
  EXPECT_TRUE(at::equal(here.narrow(0, 1, 40), there.narrow(0, 0, 40)));
  EXPECT_THAT(
      Refusal(From(Trained("learned-short", "linear", {learned, "view.max_length_tokens=40"}),
                   "learned-long", "linear", {learned, "view.max_length_tokens=41"})),
      HasSubstr("that run has learned 40 of the 41 positions of view.max_length_tokens"));
}

TEST_F(InitialEncoderTest, AnAttentionsOwnIsTakenWithTheSameAttentionAlone) {
  const std::string own = "encoder.layer0.attention.projection";
  const std::string checkpoint = Trained("performer", "performer");
  const at::Tensor there = TensorsOf(checkpoint).at(own);
  InitialEncoder taken;
  const Tensors same = Begins(From(checkpoint, "performer-again", "performer"), &taken);
  EXPECT_TRUE(at::equal(same.at(own), there));
  EXPECT_THAT(taken.left(), Not(Contains(own)));
  Begins(From(checkpoint, "performer-linear", "linear"), &taken);
  EXPECT_THAT(taken.left(), Contains(own));
  // Two methods may use one name for unlike things.
  const std::vector<std::string> as_many = {"attention.options.features=128"};
  const Tensors rfa = Begins(From(checkpoint, "performer-rfa", "rfa", as_many), &taken);
  EXPECT_EQ(rfa.at(own).sizes(), there.sizes()) << "else it would not fit anyway";
  EXPECT_TRUE(at::equal(rfa.at(own), Begins(Request("rfa-scratch", "rfa", as_many)).at(own)));
  EXPECT_THAT(taken.fresh(), Contains(own));
  EXPECT_THAT(taken.left(), Contains(own));
}

TEST_F(InitialEncoderTest, LongerSequencesAreWarnedOf) {
  const std::string checkpoint = Trained("short", "linear", {"view.max_length_tokens=40"});
  TrainRequest request = From(checkpoint, "long", "linear", {"view.max_length_tokens=60"});
  ASSERT_TRUE(request.runtime.quiet()) << "which leaves out no warning";
  testing::internal::CaptureStderr();
  const auto run = OpenRun(request);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: view.max_length_tokens is 60"));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT((*run)->state.warning(),
              Contains(HasSubstr("view.max_length_tokens is 60, and the encoder that training "
                                 "starts from has seen at most 40 tokens")));
  // The other seeds of a list keep it, too, and are silent.
  request = From(checkpoint, "other-seed", "linear", {"view.max_length_tokens=60"});
  request.leaves_out_warnings = true;
  testing::internal::CaptureStderr();
  const auto silent = OpenRun(request);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_THAT((*silent)->state.warning(), Contains(HasSubstr("has seen at most 40 tokens")));
  const auto equal = OpenRun(From(checkpoint, "as-long", "linear", {"view.max_length_tokens=40"}));
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_THAT((*equal)->state.warning(), Not(Contains(HasSubstr("has seen at most"))));
}

TEST_F(InitialEncoderTest, AnotherEncoderIsRefusedByTheFieldThatDiffers) {
  const std::string checkpoint = Trained("refused", "linear");
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{"model.width=64", "model.qkv_width=64"}, "model.qkv_width is 64, that run has "},
      {{"model.layers=3"}, "model.layers is 3, that run has "},
      {{"model.heads=4"}, "model.heads is 4, that run has "},
      {{"model.mlp_width=96"}, "model.mlp_width is 96, that run has "},
      {{"model.norm_placement=AFTER"}, "model.norm_placement is AFTER, that run has BEFORE"},
      {{"model.positions=NO_POSITIONS"}, "model.positions is NO_POSITIONS, that run has "},
      {{"model.stem_tokens=3"}, "model.stem_tokens is 3, that run has 0"},
      {{"view.end_mark=true"}, "an end mark"}};
  const auto manifest = ReadManifest(*folder_ + "/data");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  for (const auto& [sets, message] : refused) {
    const TrainRequest request = From(checkpoint, "refused-" + sets[0], "linear", sets);
    const std::string refusal = Refusal(request);
    EXPECT_THAT(refusal,
                testing::AllOf(HasSubstr("--init-from " + checkpoint), HasSubstr(message)));
    // `lra config` says the same.
    EXPECT_EQ(std::string(CheckTrainable(request, *manifest).message()), refusal);
  }
  TrainRequest nameless = From(checkpoint, "nameless", "linear");
  nameless.start_checkpoint.clear();
  EXPECT_THAT(Refusal(nameless), HasSubstr("name their checkpoint with --init-from"));
  TrainRequest other = From(checkpoint, "other", "linear");
  other.resolved.config.set_encoder_weights_sha256("0123");
  EXPECT_THAT(Refusal(other), HasSubstr("encoder_weights_sha256 is 0123"));
  TrainRequest bare = Request("bare", "linear", {"encoder_recipe=0123"});
  EXPECT_THAT(Refusal(bare), HasSubstr("encoder_recipe is 0123 without encoder_weights_sha256"));
  TrainRequest twice = From(checkpoint, "twice", "linear");
  twice.resolved.config.set_start_weights_sha256("0123");
  EXPECT_THAT(Refusal(twice), HasSubstr("from the one or the other"));
}

// A causal filter's last tap is its own token's, another one's is in the middle.
TEST_F(InitialEncoderTest, FiltersOfAnotherCausalityAreRefused) {
  const std::string causal = "attention.causal=true", filters = "model.attention_filter_tokens=3";
  const std::string plain = Trained("causal-plain", "linear", {causal});
  EXPECT_TRUE(OpenRun(From(plain, "plain-both-ways", "linear")).ok());
  const std::string checkpoint = Trained("causal-filters", "linear", {causal, filters});
  EXPECT_THAT(Refusal(From(checkpoint, "filters-both-ways", "linear", {filters})),
              HasSubstr("attention.causal is false, that run has true, and there the taps of "
                        "convolutions (model.attention_filter_tokens) stand for other tokens"));
  EXPECT_TRUE(OpenRun(From(checkpoint, "filters-back", "relu", {causal, filters})).ok());
}

// Ids that are not the same are refused before tensors are looked at, whatever their number.
TEST_F(InitialEncoderTest, AnotherVocabularyIsRefused) {
  const std::string checkpoint = Trained("vocabulary", "linear");
  CheckpointState other = *LoadCheckpointState(checkpoint);
  const TaskSpec spec = other.spec();
  const ExperimentConfig config = other.config();
  EXPECT_EQ(CheckSameEncoder(other, config, spec), absl::OkStatus());
  other.mutable_spec()->set_token_names(3, "[SUM");
  const absl::Status status = CheckSameEncoder(other, config, spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[SUM"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("whose ids mean the same"));
}

// A run that goes on, from its own checkpoint, knows what it began with; one that was killed before
// its first takes the encoder anew.
TEST_F(InitialEncoderTest, AResumedRunIsTheUndisturbedOne) {
  const std::string checkpoint = Trained("resume-origin", "transformer");
  const std::vector<std::string> sets = {"train.steps=6", "train.eval_every_steps=2"};
  const auto undisturbed = TrainRun(From(checkpoint, "undisturbed", "relu", sets));
  ASSERT_TRUE(undisturbed.ok()) << undisturbed.status();
  EXPECT_GT(undisturbed->initial_encoder().taken(), 0);
  EXPECT_EQ(undisturbed->config().encoder_weights_sha256(),
            LoadCheckpointState(checkpoint)->weights_sha256());
  TrainRequest killed = From(checkpoint, "killed", "relu", sets);
  killed.resume = true;
  ASSERT_TRUE(TrainToEnd(killed).ok());
  const std::string& out = killed.runtime.out_dir();
  ASSERT_TRUE(RemoveAll(JoinPath(out, "curve.jsonl")).ok());
  // Without --init-from: the checkpoint is the run's own.
  killed.start_checkpoint.clear();
  const auto resumed = TrainRun(killed);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(EqualExceptVolatile(*undisturbed, *resumed));
}

TEST_F(InitialEncoderTest, EveryTrialOfASearchStartsFromIt) {
  const std::string checkpoint = Trained("search-origin", "linear");
  TrainRequest request =
      From(checkpoint, "search", "linear",
           {"search.learning_rate=1e-3,1e-4", "search.budget_trials=2", "search.select=VALIDATION",
            "train.steps=2", "train.eval_every_steps=2"});
  const auto record = TrainRun(request);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->trials_size(), 2);
  EXPECT_GT(record->initial_encoder().taken(), 0);
}

}  // namespace
}  // namespace lra
