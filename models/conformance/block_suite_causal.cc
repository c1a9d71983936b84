// The causal form does not see the future; streaming is the same function; the attention inside.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/conformance/block_suite.h"

namespace lra::internal {

void BlockSuite::Causality() {
  Variant variant = Main();
  const BlockTraits plain = Make(variant)->block->traits();
  if (plain.is_causal) Future(variant);
  variant.is_causal = true;
  const absl::StatusOr<Instance> made = TryToMake(variant);
  Add("T5", made.ok() == plain.causal_reason.empty() ? 0 : 1, 0,
      made.ok() ? "attention.causal=true is taken, as the traits say"
                : "attention.causal=true is refused, as the traits say");
  if (!made.ok()) return;
  const BlockTraits traits = (*made)->block->traits();
  Add("T5", traits.is_causal ? 0 : 1, 0, "the causal form says that it is one");
  if (plain.is_causal != traits.is_causal) {
    const BlockCase c(2200, 2, 37, variant.model.width());
    AddVisible("T5", MaxDifference(Forward(*Make(variant), c), Forward(*Make(Main()), c)),
               "the causal form is another function");
  }
  Future(variant);
  ForwardAndGradients(variant);
  if (!traits.supports_streaming) return;
  Streaming(variant, false);
  Streaming(variant, true);
  StreamingOfOtherModels(variant);
  variant.type = at::kFloat;
  Streaming(variant, true);
}

void BlockSuite::StreamingOfOtherModels(Variant variant) {
  for (const ModelConfig::Positions positions : {ModelConfig::ROTARY, ModelConfig::ALIBI}) {
    Variant other = variant;
    other.model.set_positions(positions);
    other.words = ", positions " + ModelConfig::Positions_Name(positions);
    if (!TryToMake(other).ok()) continue;
    Streaming(other, true);
    Future(other);
  }
  Variant filtered = variant;
  filtered.model.set_attention_filter_tokens(4);
  filtered.words = ", filters";
  const absl::StatusOr<Instance> made = TryToMake(filtered);
  if (made.ok() && (*made)->block->traits().supports_streaming) {
    for (const bool is_ragged : {false, true}) Streaming(filtered, is_ragged);
    filtered.model.set_mask(ModelConfig::NO_MASK);
    filtered.words = ", filters, no mask";
    Streaming(filtered, true);
  }
  variant.model.set_norm_placement(ModelConfig::AFTER);
  variant.words = ", norms behind";
  Streaming(variant, false);
}

// Row t's output and gradient, with other tokens behind it.
void BlockSuite::Future(const Variant& variant) {
  constexpr int64_t kTokens = 71;
  const Instance instance = Make(variant);
  BlockCase c(2210, 2, kTokens, variant.model.width());
  c.PadFrom({kTokens, 50});
  double change = 0, leak = 0;
  for (const int64_t last : {0, 5, 31, 63, 69}) {
    const auto future = [&](const at::Tensor& t) {
      return t.narrow(1, last + 1, kTokens - last - 1);
    };
    BlockCase other = c, prefix = c;
    other.input.x = c.input.x.clone();
    future(other.input.x).mul_(-7).add_(3);
    change =
        std::max(change, RelativeDifference(Forward(*instance, other).narrow(1, 0, last + 1),
                                            Forward(*instance, c).narrow(1, 0, last + 1), 1.0));
    prefix.upstream = c.upstream.clone();
    future(prefix.upstream).zero_();
    leak = Worse(leak, future(c.Real(RunFast(*instance, prefix).dx)).abs().max().item<double>());
  }
  Add("T5", change, kUnchanged, "other later tokens change no earlier output");
  Add("T5", leak, kUnchanged, "no gradient from earlier outputs to later tokens");
}

void BlockSuite::Streaming(const Variant& variant, bool is_ragged) {
  constexpr int64_t kTokens = 53;
  const Instance instance = Make(variant);
  const Block& block = *instance->block;
  BlockCase c(2220, 2, kTokens, variant.model.width(), variant.type);
  if (is_ragged) c.PadRandomly(2221);
  const c10::NoGradGuard no_gradient;
  const at::Tensor whole = Forward(*instance, c);
  const auto stream = [&](const std::vector<int64_t>& pieces) {
    const BlockInput placed = Place(c.input);
    BlockState state = block.InitState(2, placed.x.options());
    std::vector<at::Tensor> outputs;
    for (int64_t first = 0; const int64_t tokens : pieces) {
      BlockInput piece = placed;
      piece.x = placed.x.narrow(1, first, tokens);
      if (piece.real.defined()) piece.real = piece.real.narrow(1, first, tokens);
      outputs.push_back(block.Extend(piece, &state));
      first += tokens;
    }
    Add("T6", state.tokens == kTokens ? 0 : 1, 0, "the state counts the tokens");
    return c.Real(at::cat(outputs, 1).cpu());
  };
  const double bound = variant.type == at::kFloat ? kFloat : kForward;
  const std::string what = absl::StrCat(variant.words, is_ragged ? ", random padding" : "");
  Add("T6", RelativeDifference(stream(std::vector<int64_t>(kTokens, 1)), whole, 1.0), bound,
      absl::StrCat("token by token against all at once", what));
  Add("T6", RelativeDifference(stream({20, 1, 1, 14, 2, 15}), whole, 1.0), bound,
      absl::StrCat("in pieces against all at once", what));
}

// Declared by the traits; seen by what another attention makes of it.
void BlockSuite::UsesAttention() {
  const Instance instance = Make(Main());
  const bool declared = instance->block->traits().uses_attention;
  Add("R", declared == (instance->block->attention() != nullptr) ? 0 : 1, 0,
      "shows its attention where the traits say that it has one");
  if (attention_ == kNoAttention) {
    attention_ = "transformer";
    Add("R", TryToMake(Main()).ok() == declared ? 0 : 1, 0,
        "the configured attention is refused by a block that would ignore it");
    return;
  }
  const BlockCase c(2230, 2, 13, Main().model.width());
  const at::Tensor before = Forward(*instance, c);
  attention_ = "transformer";
  AddVisible("R", MaxDifference(Forward(*Make(Main()), c), before),
             "another attention, another output");
}

}  // namespace lra::internal
