// `lra generate` on models that were trained for some steps on small ListOps data.
#include "inspect/generate.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "datasets/png.h"
#include "models/base/runtime.h"
#include "run_folder/checkpoint.h"
#include "run_folder/test_looks.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GenerateTest : public TrainerTest {
 protected:
  static GenerateRequest Trained(const std::string& attention,
                                 std::vector<std::string> sets = {"view.target=NEXT",
                                                                  "attention.causal=true"}) {
    sets.insert(sets.end(), {"train.steps=20", "train.eval_every_steps=20"});
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const TrainRequest request = Request(name + attention, attention, sets);
    EXPECT_TRUE(TrainRun(request).ok());
    GenerateRequest generate;
    generate.checkpoint = request.runtime.out_dir();
    generate.data_dir = *folder_ + "/data";
    generate.texts = 5;
    generate.seed = 7;
    return generate;
  }
};

std::vector<std::vector<int32_t>> IdsOf(const Generated& generated) {
  std::vector<std::vector<int32_t>> ids;
  for (const GeneratedText& text : generated.texts) ids.push_back(text.ids);
  return ids;
}

// -log p of the tokens behind the given ones, of one pass over the whole text.
double TeacherForcedNats(const std::string& run, const GeneratedText& text) {
  const CheckpointState state = *LoadCheckedState(run);
  const auto model = *LoadClassifier(run, state);
  HostBatch batch;
  batch.batch = 1;
  batch.length = static_cast<int64_t>(text.ids.size());
  batch.tokens = text.ids;
  batch.lengths = {static_cast<int32_t>(text.ids.size())};
  batch.prompts = {static_cast<int32_t>(text.given_tokens)};
  batch.labels.assign(text.ids.begin() + text.given_tokens, text.ids.end());
  batch.example_ids = {0};
  const c10::NoGradGuard no_gradient;
  const at::Tensor logits = model->Forward(batch, {}).contiguous();
  double nats = 0;
  for (size_t t = 0; t < batch.labels.size(); ++t) {
    nats += NatsOf(
        {logits.const_data_ptr<float>() + t * logits.size(1), static_cast<size_t>(logits.size(1))},
        batch.labels[t]);
  }
  return nats;
}

TEST_F(GenerateTest, CompletesExamplesAndSaysTheirNats) {
  GenerateRequest request = Trained("linear");
  request.given_tokens = 3;
  const auto generated = Generate(request);
  ASSERT_TRUE(generated.ok()) << generated.status();
  ASSERT_EQ(generated->texts.size(), 5u);
  const std::string checkpoint = *FindCheckpoint(request.checkpoint);
  for (const GeneratedText& text : generated->texts) {
    ASSERT_EQ(text.ids.size(), text.original.size());
    EXPECT_EQ(text.given_tokens, 3);
    EXPECT_TRUE(std::equal(text.ids.begin(), text.ids.begin() + 3, text.original.begin()));
    EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), 0), 0);  // padding is never drawn
    EXPECT_NEAR(text.nats, TeacherForcedNats(checkpoint, text), 1e-3);
  }
  EXPECT_THAT(TextOfIds(generated->spec, generated->texts[0].ids), HasSubstr("["));
  EXPECT_THAT(std::string(GeneratedPng(*generated).status().message()), HasSubstr("no pixels"));
}

// What filters read of earlier tokens is a part of the state: the models of protocol strong.
TEST_F(GenerateTest, ModelsWithFiltersSayTheirNats) {
  for (const std::string attention : {"linear", "cosformer", "transformer"}) {
    SCOPED_TRACE(attention);
    GenerateRequest request =
        Trained(attention, {"view.target=NEXT", "attention.causal=true", "model.stem_tokens=7",
                            "model.attention_filter_tokens=3"});
    request.given_tokens = 3;
    const auto generated = Generate(request);
    ASSERT_TRUE(generated.ok()) << generated.status();
    const std::string checkpoint = *FindCheckpoint(request.checkpoint);
    for (const GeneratedText& text : generated->texts)
      EXPECT_NEAR(text.nats, TeacherForcedNats(checkpoint, text), 1e-3);
  }
}

struct SeedCase {
  std::string name, attention;
  std::vector<std::string> options = {};
};

// Prints a case in GoogleTest's messages.
void PrintTo(const SeedCase& seed_case, std::ostream* out) { *out << seed_case.name; }

class GenerateSeedTest : public GenerateTest, public testing::WithParamInterface<SeedCase> {};

// The draws are the seed's alone: neither threads, nor how many texts grow, nor how they are
// computed changes one.
TEST_P(GenerateSeedTest, SameForASeed) {
  std::vector<std::string> sets = {"view.target=NEXT", "attention.causal=true"};
  sets.insert(sets.end(), GetParam().options.begin(), GetParam().options.end());
  GenerateRequest request = Trained(GetParam().attention, sets);
  request.given_tokens = 2;
  const auto first = IdsOf(*Generate(request));
  for (const int threads : {2, 3, 1}) {
    ASSERT_TRUE(StartRuntime(threads, "").ok());
    EXPECT_EQ(IdsOf(*Generate(request)), first) << threads << " threads";
  }
  request.kind = StreamKind::kRecompute;
  EXPECT_EQ(IdsOf(*Generate(request)), first);
  request.kind = StreamKind::kState;
  request.texts = 2;
  EXPECT_EQ(IdsOf(*Generate(request)),
            std::vector<std::vector<int32_t>>(first.begin(), first.begin() + 2));
  request.texts = 5;
  request.seed = 8;
  EXPECT_NE(IdsOf(*Generate(request)), first);
}

INSTANTIATE_TEST_SUITE_P(
    Attentions, GenerateSeedTest,
    testing::Values(
        SeedCase{"transformer", "transformer"}, SeedCase{"linear", "linear"},
        SeedCase{"cosformer", "cosformer"}, SeedCase{"s4d", "s4d"},
        SeedCase{"filters", "linear", {"model.stem_tokens=7", "model.attention_filter_tokens=3"}},
        SeedCase{"decay", "factorized", {"attention.options.reweighting=DECAY"}},
        SeedCase{"learned_decay", "factorized", {"attention.options.reweighting=LEARNED_DECAY"}}),
    [](const testing::TestParamInfo<SeedCase>& info) { return info.param.name; });

TEST_F(GenerateTest, WithoutDataAndWithoutChance) {
  GenerateRequest request = Trained("cosformer");
  request.data_dir = "/nowhere";
  request.given_tokens = 0;
  request.tokens = 12;
  request.temperature = 0;
  const auto generated = Generate(request);
  ASSERT_TRUE(generated.ok()) << generated.status();
  EXPECT_EQ(generated->texts[0].ids.size(), 12u);
  EXPECT_TRUE(generated->texts[0].original.empty());
  for (const GeneratedText& text : generated->texts)
    EXPECT_EQ(text.ids, generated->texts[0].ids);  // the likeliest tokens are the same for all
}

// Each draw had been the last id, and the text looked like one.
TEST_F(GenerateTest, LogitsThatAreNotFiniteAreAnError) {
  GenerateRequest request = Trained("linear");
  const std::string checkpoint = *FindCheckpoint(request.checkpoint);
  CheckpointState state = *LoadCheckedState(checkpoint);
  const auto model = *LoadClassifier(checkpoint, state);
  for (const Parameter& parameter : model->parameters().parameters())
    parameter.value.detach().fill_(std::numeric_limits<float>::quiet_NaN());
  request.checkpoint = *folder_ + "/broken";
  ASSERT_TRUE(MakeDirectories(request.checkpoint).ok());
  ASSERT_TRUE(SaveCheckpoint(request.checkpoint, model->parameters(), {}, &state).ok());
  request.given_tokens = 0;
  request.tokens = 6;
  for (const StreamKind kind : {StreamKind::kState, StreamKind::kRecompute}) {
    request.kind = kind;
    const absl::Status status = Generate(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("/broken: the logits of token 0 of text 0 are not finite; `lra doctor"));
  }
}

// The sums of the linear family stay; room for keys and values is 64 tokens, 128 and 256.
TEST_F(GenerateTest, SaysWhatIsRemembered) {
  const auto sizes = [](GenerateRequest request) {
    request.given_tokens = 0;
    request.tokens = 140;
    request.texts = 2;
    const auto generated = Generate(request);
    EXPECT_TRUE(generated.ok()) << generated.status();
    EXPECT_EQ(generated->state_sizes.size(), 139u);  // the last token is drawn and not read
    EXPECT_EQ(generated->state_sizes.back().bytes, generated->state_bytes_per_text);
    return generated->state_sizes;
  };
  const std::vector<StateSize> sums = sizes(Trained("linear")),
                               cache = sizes(Trained("transformer"));
  EXPECT_GT(sums.front().bytes, 0);
  EXPECT_EQ(sums.back().bytes, sums.front().bytes);
  EXPECT_EQ(StateGrowth(sums), 0);
  const std::vector<StateSize> shown = FirstHalfAndLast(cache);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].tokens, 1);
  EXPECT_EQ(shown[1].tokens, 70);
  EXPECT_EQ(shown[2].tokens, 139);
  EXPECT_EQ(shown[1].bytes, 2 * shown[0].bytes);
  EXPECT_EQ(shown[2].bytes, 4 * shown[0].bytes);
  EXPECT_DOUBLE_EQ(StateGrowth(cache), 3.0 * static_cast<double>(shown[0].bytes) / 138);
}

TEST(StateSizesTest, EachIsShownOnce) {
  const auto tokens = [](const std::vector<StateSize>& sizes) {
    std::vector<int64_t> shown;
    for (const StateSize& size : FirstHalfAndLast(sizes)) shown.push_back(size.tokens);
    return shown;
  };
  EXPECT_THAT(tokens({}), testing::IsEmpty());
  EXPECT_THAT(tokens({{7, 1}}), ElementsAre(7));
  EXPECT_THAT(tokens({{7, 1}, {8, 1}, {9, 1}}), ElementsAre(7, 9));
  EXPECT_THAT(tokens({{1, 1}, {2, 1}, {3, 1}, {4, 1}}), ElementsAre(1, 2, 4));
  EXPECT_EQ(StateGrowth({{7, 100}}), 0);
  EXPECT_EQ(StateGrowth({{7, 100}, {8, 130}, {9, 140}}), 20);
}

// Its id has no name in data without names; a text that the mark ends was drawn to its length.
TEST_F(GenerateTest, ATextEndsBehindItsMarkWhateverItIsCalled) {
  GenerateRequest request =
      Trained("linear", {"view.target=NEXT", "attention.causal=true", "view.end_mark=true"});
  const std::string checkpoint = *FindCheckpoint(request.checkpoint);
  CheckpointState state = *LoadCheckedState(checkpoint);
  const auto model = *LoadClassifier(checkpoint, state);
  state.mutable_spec()->clear_token_names();
  const int32_t mark = state.spec().vocabulary_size() - 1;
  for (const Parameter& parameter : model->parameters().parameters())
    if (parameter.name == "head.logits.bias") parameter.value.detach()[mark].fill_(1e4);
  request.checkpoint = *folder_ + "/marked";
  ASSERT_TRUE(MakeDirectories(request.checkpoint).ok());
  ASSERT_TRUE(SaveCheckpoint(request.checkpoint, model->parameters(), {}, &state).ok());
  request.given_tokens = 0;
  request.tokens = 6;
  const auto generated = Generate(request);
  ASSERT_TRUE(generated.ok()) << generated.status();
  for (const GeneratedText& text : generated->texts) EXPECT_THAT(text.ids, ElementsAre(mark));
}

// What is refused has seen nothing of the test split.
TEST_F(GenerateTest, ARefusedRequestIsNoLook) {
  const auto looks = [](const GenerateRequest& request) {
    const auto found = TestLooks(request.checkpoint);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->size();
  };
  GenerateRequest request = Trained("linear");
  request.split = "test";
  const size_t of_training = looks(request);
  std::vector<GenerateRequest> refused(5, request);
  refused[0].texts = 1000;
  refused[1].given_tokens = 500;
  refused[2].tokens = 100000;
  refused[3].draws_pictures = true;
  refused[4].top_k = 1000;
  for (const GenerateRequest& each : refused) EXPECT_FALSE(Generate(each).ok());
  EXPECT_EQ(looks(request), of_training);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(looks(request), of_training + 1);
  for (GenerateRequest other : {Trained("relu", {}), Trained("sinkhorn")}) {
    other.split = "test";
    const size_t before = looks(other);
    EXPECT_FALSE(Generate(other).ok());
    EXPECT_EQ(looks(other), before);
  }
}

TEST_F(GenerateTest, RefusesWithTheFlag) {
  const auto message = [](const GenerateRequest& request) {
    return std::string(Generate(request).status().message());
  };
  GenerateRequest request = Trained("linear");
  request.draws_pictures = true;
  EXPECT_THAT(message(request), HasSubstr("--png: tokens of task listops are no pixels"));
  request.draws_pictures = false;
  request.top_k = 1000;
  EXPECT_THAT(message(request), testing::ContainsRegex("--top-k: is 1000, but only [0-9]+ tokens"));
  request.top_k = 0;
  request.tokens = 100000;
  EXPECT_THAT(message(request), HasSubstr("--tokens: is 100000, but the model is made for"));
  request.tokens.reset();
  request.prompt = "ab";
  EXPECT_THAT(message(request),
              HasSubstr("--prompt: takes bytes, but the tokens of task listops are none"));
  request.given_tokens = 5;
  EXPECT_THAT(message(request), HasSubstr("--prompt and --given 5: "));
  request.prompt.reset();
  request.given_tokens = 500;
  EXPECT_THAT(message(request),
              testing::ContainsRegex("--given: is 500, but example 0 of "
                                     "validation has [0-9]+ tokens; give at most"));
  request.given_tokens = 3;
  request.tokens = 2;
  EXPECT_THAT(message(request), HasSubstr("--tokens: is 2, but 3 are given"));
  request.tokens.reset();
  request.given_tokens.reset();
  request.texts = 1000;
  EXPECT_THAT(message(request), HasSubstr("--examples: is 1000, but split validation has 40"));
  const absl::Status of_labels = Generate(Trained("relu", {})).status();
  EXPECT_EQ(of_labels.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(of_labels.message()), HasSubstr("guesses labels"));
  EXPECT_THAT(message(Trained("cosformer", {"view.target=MASKED"})),
              HasSubstr("guesses hidden tokens from all others"));
  EXPECT_THAT(message(Trained("sinkhorn")),
              testing::AllOf(HasSubstr("--recompute"), HasSubstr("attention.name: Sinkhorn")));
}

TEST(TextOfIdsTest, CodePointsAreTheirCharacters) {
  TaskSpec spec;
  spec.set_content(TaskSpec::TEXT);
  for (const char* name : {"<pad>", "<unk>", "U+0054", "U+00E9", "U+20AC", "U+1F600"})
    spec.add_token_names(name);
  EXPECT_EQ(TextOfIds(spec, {2, 3, 1, 4, 5}), "T\u00e9<unk>\u20ac\U0001f600");
}

TEST(GeneratedPngTest, GivenCompletedOriginal) {
  Generated generated;
  generated.spec.set_image_side_pixels(2);
  generated.spec.set_zero_is_token(true);
  generated.texts = {{{10, 20, 30, 40}, 1, 0, {10, 50, 60, 70}}};
  const auto png = GeneratedPng(generated);
  ASSERT_TRUE(png.ok()) << png.status();
  // Three cells of 84 pixels with gaps of 4 make no square: the size is in the header.
  EXPECT_THAT(std::string(DecodeGreyPng(*png, 92).status().message()), HasSubstr("268 x 92"));
  generated.texts.resize(65, generated.texts[0]);
  EXPECT_THAT(std::string(GeneratedPng(generated).status().message()),
              HasSubstr("65 pictures; at most 64"));
}

}  // namespace
}  // namespace lra
