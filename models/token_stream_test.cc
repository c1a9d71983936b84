// Streaming at the level of the model: token by token or in pieces, what one pass over the whole
// text says.
#include "models/token_stream.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/random.h"
#include "models/attention_facts.h"
#include "models/base/parameters.h"
#include "models/classifier.h"
#include "models/encoder/encoder.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kStreamVocabulary = 11, kStreamTokens = 200, kStreams = 2;

TaskSpec StreamSpec() {
  TaskSpec spec;
  spec.set_vocabulary_size(kStreamVocabulary);
  spec.set_classes(kStreamVocabulary);
  spec.set_guesses_tokens(true);
  spec.set_max_length_tokens(kStreamTokens);
  return spec;
}

ExperimentConfig StreamConfig(const std::string& attention, const std::vector<std::string>& sets) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok());
  EXPECT_TRUE(builder.AddPreset("smoke").ok());
  EXPECT_TRUE(builder.AddAttention(attention).ok());
  for (const char* set : {"view.max_length_tokens=200", "model.layers=2", "view.target=NEXT",
                          "attention.causal=true"}) {
    EXPECT_TRUE(builder.Set(set).ok()) << set;
  }
  for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->config;
}

std::unique_ptr<Classifier> Model(const std::string& attention,
                                  const std::vector<std::string>& sets = {},
                                  const TaskSpec& spec = StreamSpec()) {
  auto model = Classifier::Create(StreamConfig(attention, sets), spec);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

HostBatch Texts(int tokens = kStreamTokens, int vocabulary = kStreamVocabulary) {
  HostBatch batch;
  batch.batch = kStreams;
  batch.length = tokens;
  RandomStream random(1, RandomDomain::kTest, {0, 0, 0});
  for (int i = 0; i < kStreams * tokens; ++i)
    batch.tokens.push_back(1 + static_cast<int32_t>(random.Below(vocabulary - 1)));
  batch.labels = batch.tokens;
  batch.lengths = {tokens, tokens};
  batch.prompts = {0, 0};
  batch.example_ids = {0, 1};
  return batch;
}

// ids[:, first .. first + count) of the texts.
at::Tensor Piece(const HostBatch& texts, int64_t first, int64_t count) {
  at::Tensor ids = at::empty({kStreams, count}, at::kLong);
  for (int64_t b = 0; b < kStreams; ++b) {
    const auto row = texts.tokens.begin() + b * texts.length + first;
    std::copy(row, row + count, ids.mutable_data_ptr<int64_t>() + b * count);
  }
  return ids;
}

// The largest difference between what the stream says behind each piece and what a pass over the
// whole text says there, relative to the largest logit where that is above 1. The first piece has
// `given` tokens, as a prompt does.
double Difference(const Classifier& model, StreamKind kind, int64_t piece, int64_t given = 0,
                  const HostBatch& texts = Texts()) {
  const c10::NoGradGuard no_gradient;
  const at::Tensor whole = model.Forward(texts, {}).view({kStreams, texts.length, -1});
  // A model that says the same behind all tokens could forget them.
  EXPECT_GT((whole - whole.narrow(1, 0, 1)).abs().max().item<double>(), 1e-2);
  const auto stream = model.StartStream(kStreams, kind);
  EXPECT_TRUE(stream.ok()) << stream.status();
  const double scale = std::max(1.0, whole.abs().max().item<double>());
  double worst = 0;
  at::Tensor guess = (*stream)->Extend(Piece(texts, 0, given));
  for (int64_t t = given; t < texts.length; t += piece) {
    EXPECT_EQ((*stream)->tokens(), t);
    worst = std::max(worst, (guess - whole.select(1, t)).abs().max().item<double>() / scale);
    if (t + piece < texts.length) guess = (*stream)->Extend(Piece(texts, t, piece));
  }
  return worst;
}

struct Case {
  std::string name, attention;
  std::vector<std::string> sets;
};

class StreamTest : public testing::TestWithParam<Case> {};

TEST_P(StreamTest, SaysWhatAPassOverTheWholeTextSays) {
  const auto model = Model(GetParam().attention, GetParam().sets);
  for (const int64_t piece : {1, 7, 100})
    EXPECT_LE(Difference(*model, StreamKind::kState, piece), 1e-5) << piece;
  // All tokens at once, and a prompt at once that goes on token by token.
  for (const int64_t given : {kStreamTokens - 1, kStreamTokens - 40})
    EXPECT_LE(Difference(*model, StreamKind::kState, 1, given), 1e-5) << given;
  EXPECT_LE(Difference(*model, StreamKind::kRecompute, 50), 1e-5);
}

// Those whose traits say that they stream.
std::vector<std::string> StreamingAttentions() {
  std::vector<std::string> names;
  for (const std::string& name : ConfigNames("attentions")) {
    const ExperimentConfig config = StreamConfig(name, {});
    const auto facts = DescribeAttention(name, config.attention().options(), SizesOf(config));
    EXPECT_TRUE(facts.ok()) << facts.status();
    if (facts->traits.supports_streaming) names.push_back(name);
  }
  return names;
}

std::vector<Case> Attentions() {
  std::vector<Case> cases;
  for (const std::string& name : StreamingAttentions()) cases.push_back({name, name, {}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Attentions, StreamTest, testing::ValuesIn(Attentions()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Options, StreamTest,
    testing::Values(
        Case{"decay", "factorized", {"attention.options.reweighting=DECAY"}},
        Case{"learned_decay", "factorized", {"attention.options.reweighting=LEARNED_DECAY"}},
        Case{"learned_scale",
             "factorized",
             {"attention.options.reweighting=COSINE", "attention.options.scale=LEARNED"}},
        Case{"rotary", "linear", {"model.positions=ROTARY"}},
        Case{"learned", "linear", {"model.positions=LEARNED"}},
        Case{"no_positions", "linear", {"model.positions=NO_POSITIONS"}},
        Case{"concatenated", "linear", {"model.positions=CONCATENATED"}},
        Case{"post_norm", "linear", {"model.norm_placement=AFTER"}},
        Case{"alibi", "transformer", {"model.positions=ALIBI"}},
        Case{"gated", "none", {"block.name=gated_attention"}},
        Case{"convolution",
             "none",
             {"block.name=dilated_convolution", "block.options.circular=false"}}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// The filters of protocol strong, in front of the layers and inside each.
std::vector<std::string> WithFilters(std::vector<std::string> sets) {
  sets.insert(sets.end(), {"model.stem_tokens=7", "model.attention_filter_tokens=3"});
  return sets;
}

std::vector<Case> FilteredModels() {
  std::vector<Case> cases;
  for (const std::string name : {"linear", "cosformer", "transformer", "s4d"})
    cases.push_back({name, name, WithFilters({})});
  for (const std::string decay : {"DECAY", "LEARNED_DECAY"})
    cases.push_back({decay, "factorized", WithFilters({"attention.options.reweighting=" + decay})});
  cases.push_back({"rotary", "linear", WithFilters({"model.positions=ROTARY"})});
  cases.push_back({"post_norm", "linear", WithFilters({"model.norm_placement=AFTER"})});
  cases.push_back({"unmasked", "linear", WithFilters({"model.mask=NO_MASK"})});
  cases.push_back({"stem_alone", "linear", {"model.stem_tokens=4"}});
  cases.push_back({"filter_alone", "linear", {"model.attention_filter_tokens=2"}});
  cases.push_back(
      {"own_token", "linear", {"model.stem_tokens=1", "model.attention_filter_tokens=1"}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Filters, StreamTest, testing::ValuesIn(FilteredModels()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// --- Pictures ---

constexpr int kSide = 28, kPixels = kSide * kSide, kValues = 256;

TaskSpec PictureSpec() {
  TaskSpec spec = StreamSpec();
  spec.set_image_side_pixels(kSide);
  spec.set_zero_is_token(true);
  spec.set_vocabulary_size(kValues);
  spec.set_classes(kValues);
  spec.set_max_length_tokens(kPixels);
  return spec;
}

// The mixture's head begins with weights of zero, under which no token says anything of the next.
void DrawMixture(const Classifier& model) {
  const c10::NoGradGuard no_gradient;
  for (const Parameter& parameter : model.parameters().parameters()) {
    if (parameter.name != "head.mixture.weight") continue;
    at::Tensor weight = parameter.value;
    weight.copy_(at::randn(weight.sizes()) * 0.1);
  }
}

// What a suite's file says of its models ("model.positions=..."), made small.
std::vector<std::string> SmallModelsOf(const std::string& suite) {
  const std::string path = JoinPath(ConfigDirectory(), "suites/" + suite + ".textproto");
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> sets;
  for (const absl::string_view piece : absl::StrSplit(*text, '"'))
    if (absl::StartsWith(piece, "model.")) sets.emplace_back(piece);
  EXPECT_GT(sets.size(), 10u) << path;
  sets.insert(sets.end(), {"model.layers=2", "model.width=32", "model.heads=2",
                           "model.qkv_width=32", "model.mlp_width=64"});
  return sets;
}

class PictureStreamTest : public testing::TestWithParam<Case> {};

TEST_P(PictureStreamTest, SaysWhatAPassOverTheWholePictureSays) {
  // Without a feature map the terms of a row's sum have both signs, and what is left of it may be
  // small: 1.1e-5 was seen, of the others at most 1.1e-6.
  const double rounding = GetParam().attention == "identity" ? 4e-5 : 1e-5;
  std::vector<std::string> sets = GetParam().sets;
  sets.push_back(absl::StrCat("view.max_length_tokens=", kPixels));
  const auto model = Model(GetParam().attention, sets, PictureSpec());
  DrawMixture(*model);
  const HostBatch pictures = Texts(kPixels, kValues);
  // One by one; in pieces, also with a remainder; all at once; most at once, the others one by one.
  for (const auto& [piece, given] : {std::pair{1, 0}, std::pair{7, 0}, std::pair{97, 0},
                                     std::pair{1, kPixels - 1}, std::pair{1, kPixels - 40}}) {
    EXPECT_LE(Difference(*model, StreamKind::kState, piece, given, pictures), rounding)
        << given << " given, then " << piece;
  }
  EXPECT_LE(Difference(*model, StreamKind::kRecompute, 1, kPixels - 2, pictures), rounding);
}

std::vector<Case> PictureModels() {
  std::vector<Case> cases = Attentions();
  cases.push_back({"decay", "factorized", {"attention.options.reweighting=DECAY"}});
  cases.push_back({"filters", "linear", WithFilters({})});
  cases.push_back(
      {"mixture", "linear", {"model.token_head=LOGISTIC_MIXTURE", "model.mixture_components=10"}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Attentions, PictureStreamTest, testing::ValuesIn(PictureModels()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

std::vector<Case> PublishedModels() {
  std::vector<Case> cases;
  for (const char* attention : {"transformer", "linear", "cosformer"})
    cases.push_back({attention, attention, SmallModelsOf("transformers_are_rnns_table1")});
  return cases;
}

// All settings of the paper's models together.
INSTANTIATE_TEST_SUITE_P(Published, PictureStreamTest, testing::ValuesIn(PublishedModels()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// What does not stream can be run anew for each token.
TEST(StreamRefusalTest, NamesWhatDoesNotStream) {
  // Its mixtures of blocks are computed in another way where a block is not full.
  constexpr double kRounding = 1e-4;
  const auto model = Model("sinkhorn");
  EXPECT_THAT(std::string(model->StartStream(1, StreamKind::kState).status().message()),
              AllOf(HasSubstr("attention.name: Sinkhorn"), HasSubstr("layer 0")));
  EXPECT_LE(Difference(*model, StreamKind::kRecompute, 50), kRounding);
}

// This method is causal whatever is asked for; filters are so where attention.causal asks for it.
TEST(StreamRefusalTest, NamesFiltersThatLookAhead) {
  const auto refusal = [](const std::string& filters, const std::string& causal) {
    ParameterStore parameters(1);
    const auto encoder = Encoder::Create(
        StreamConfig("sparse",
                     {"attention.options.variant=LRA2020", filters, "attention.causal=" + causal}),
        StreamSpec(), &parameters);
    EXPECT_TRUE(encoder.ok()) << encoder.status();
    return std::string(encoder->CheckStreams().message());
  };
  for (const std::string field : {"model.stem_tokens", "model.attention_filter_tokens"}) {
    EXPECT_EQ(refusal(field + "=3", "true"), "");
    EXPECT_THAT(refusal(field + "=3", "false"), HasSubstr(field + ": without attention.causal"));
    EXPECT_EQ(refusal(field + "=1", "false"), "") << "sees no other token";
  }
}

// Multiply-adds aside, this is why one streams: H (D^2 + D) floats a layer, whatever the length,
// against keys and values of all tokens.
TEST(StreamMemoryTest, StateIsConstantWhereTheMethodSaysSo) {
  const HostBatch texts = Texts();
  const auto bytes = [&](const std::string& attention, int64_t tokens) {
    const auto model = Model(attention, {"model.width=64", "model.heads=2"});
    const auto stream = *model->StartStream(kStreams, StreamKind::kState);
    stream->Extend(Piece(texts, 0, tokens));
    return stream->state_bytes();
  };
  const int64_t floats = 2 /*layers*/ * kStreams * 2 /*heads*/ * (32 * 32 + 32);
  // One number a head may come beside the sums.
  for (const int64_t tokens : {10, 50, 150, 199}) {
    EXPECT_GE(bytes("linear", tokens), floats * 4) << tokens;
    EXPECT_LE(bytes("linear", tokens), floats * 4 + 2 * kStreams * 2 * 4) << tokens;
  }
  // Reformer has as many buckets as the longest text has chunks, so it forgets little.
  const std::set<std::string> grows = {"transformer", "synthesizer", "sparse", "reformer"};
  for (const std::string& attention : StreamingAttentions()) {
    SCOPED_TRACE(attention);
    if (grows.contains(attention)) {
      EXPECT_GT(bytes(attention, 199), 2 * bytes(attention, 20));
    } else {
      // Local attention's grows within a block, and two blocks of 64 lie between.
      EXPECT_EQ(bytes(attention, 148), bytes(attention, 20));
    }
  }
}

// Filters of W taps read W - 1 tokens in front of a piece: so many vectors are kept for the stem,
// and for each layer, from the beginning on.
TEST(StreamMemoryTest, FiltersAddTheTokensThatTheyRead) {
  constexpr int kWidth = 64, kLayers = 2;
  const auto bytes = [](const std::vector<std::string>& filters, int64_t tokens) {
    std::vector<std::string> sets = {"model.width=64", "model.heads=2"};
    sets.insert(sets.end(), filters.begin(), filters.end());
    const auto model = Model("linear", sets);
    const auto stream = *model->StartStream(kStreams, StreamKind::kState);
    stream->Extend(Piece(Texts(), 0, tokens));
    return stream->state_bytes();
  };
  constexpr int64_t kAdded = 4 * kStreams * kWidth * (6 + kLayers * 2);
  for (const int64_t tokens : {0, 1, 150})
    EXPECT_EQ(bytes(WithFilters({}), tokens), bytes({}, tokens) + kAdded) << tokens;
}

// numerics.precision=BF16 is about the products of the layers, in a stream as in a pass over the
// whole text. What a stream remembers is float32: sums over many tokens need its digits.
TEST(StreamPrecisionTest, Bfloat16RoundsProductsAndNotTheState) {
  // Some roundings of 2^-9 in each of two layers, which need not fall alike.
  constexpr double kRoundings = 0.1;
  const auto state_bytes = [](const Classifier& model) {
    const auto stream = *model.StartStream(kStreams, StreamKind::kState);
    stream->Extend(Piece(Texts(), 0, 100));
    return stream->state_bytes();
  };
  for (const char* attention : {"linear", "cosformer", "performer", "rfa", "transformer"}) {
    SCOPED_TRACE(attention);
    const auto rounded = Model(attention, {"numerics.precision=BF16"}), exact = Model(attention);
    for (const int64_t piece : {1, 50})
      EXPECT_LE(Difference(*rounded, StreamKind::kState, piece), kRoundings) << piece;
    EXPECT_EQ(state_bytes(*rounded), state_bytes(*exact));
  }
  const auto rounded = Model("linear", WithFilters({"numerics.precision=BF16"}));
  EXPECT_LE(Difference(*rounded, StreamKind::kState, 1), kRoundings);
  EXPECT_EQ(state_bytes(*rounded), state_bytes(*Model("linear", WithFilters({}))));
}

// A model of labels has nothing to stream.
TEST(StreamRefusalTest, ModelsOfLabels) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("smoke").ok() &&
              builder.AddAttention("linear").ok());
  TaskSpec spec = StreamSpec();
  spec.clear_guesses_tokens();
  const auto model = Classifier::Create(builder.Build()->config, spec);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(std::string((*model)->StartStream(1, StreamKind::kState).status().message()),
              HasSubstr("labels"));
}

}  // namespace
}  // namespace lra
