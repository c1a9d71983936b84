// Padding, batches, and the keys of dropout.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "models/conformance/block_suite.h"

namespace lra::internal {
namespace {

const char* TypeName(at::ScalarType type) { return type == at::kFloat ? "float32" : "float64"; }

}  // namespace

void BlockSuite::PadContent(const Variant& variant) {
  const double bound = variant.type == at::kFloat ? kUnchanged32 : kUnchanged;
  const Instance instance = Make(variant);
  BlockCase c(2100, 3, 23, variant.model.width(), variant.type);
  c.PadFrom({23, 10, 1});
  const at::Tensor padded = c.input.real.logical_not().unsqueeze(2);
  BlockCase dirty = c;
  dirty.input.x = c.input.x.masked_fill(padded, 1e3);
  Add("T3", OutcomeDifference(RunFast(*instance, dirty), RunFast(*instance, c), c), bound,
      absl::StrCat("1e3 in padded tokens, ", TypeName(variant.type)));
  dirty.input.x = c.input.x.masked_fill(padded, std::numeric_limits<double>::quiet_NaN());
  Add("T3", RelativeDifference(Forward(*instance, dirty), Forward(*instance, c), 1.0), bound,
      absl::StrCat("NaN in padded tokens, ", TypeName(variant.type)));
}

void BlockSuite::PadAmount(const Variant& variant) {
  constexpr int64_t kTokens = 21;
  const Instance instance = Make(variant);
  const BlockTraits& traits = instance->block->traits();
  BlockCase c(2110, 1, kTokens + 17, variant.model.width(), variant.type);
  c.PadFrom({kTokens});
  const BlockCase unpadded = c.Example(0, kTokens);
  const BlockOutcome expected = RunFast(*instance, unpadded);
  double largest = 0;
  for (const int64_t pads : {3, 17}) {
    BlockOutcome outcome = RunFast(*instance, c.Example(0, kTokens + pads));
    for (at::Tensor* t : {&outcome.output, &outcome.dx}) *t = t->narrow(1, 0, kTokens);
    const double change = OutcomeDifference(outcome, expected, unpadded);
    largest = std::max(largest, change);
    if (!traits.is_padding_invariant) continue;
    Add("T4", change, variant.type == at::kFloat ? kUnchanged32 : kUnchanged,
        absl::StrCat(pads, " pads against none, ", TypeName(variant.type)));
  }
  if (traits.is_padding_invariant) return;
  AddVisible("T4", largest, "the amount of padding changes the output, as declared");
  Add("T4", traits.padding_reason.empty(), 0, "the traits say why");
}

void BlockSuite::BatchIndependence(const Variant& variant) {
  const Instance instance = Make(variant);
  BlockCase c(2120, 3, 29, variant.model.width(), variant.type);
  c.PadFrom({29, 12, 20});
  const BlockOutcome batch = RunFast(*instance, c);
  double worst = 0;
  for (int64_t b = 0; b < 3; ++b) {
    const BlockCase one = c.Example(b, 29);
    const BlockOutcome alone = RunFast(*instance, one);
    worst = std::max(
        {worst,
         RelativeDifference(one.Real(alone.output), one.Real(batch.output.narrow(0, b, 1)), 1.0),
         RelativeDifference(one.Real(alone.dx), one.Real(batch.dx.narrow(0, b, 1)), 1.0)});
  }
  Add("T9", worst, variant.type == at::kFloat ? kUnchanged32 : kUnchanged,
      absl::StrCat("alone against in a batch of 3, ", TypeName(variant.type)));
}

// What the masks follow and what they do not.
void BlockSuite::DropoutKeys(bool is_tied) {
  const Instance instance = Make(Main());
  BlockCase c(2130, 3, 17, Main().model.width());
  c.Drop(0.4, 0);
  c.input.run.is_tied = is_tied;
  const at::Tensor dropped = Forward(*instance, c);
  double alone = 0;
  for (int64_t b = 0; b < 3; ++b) {
    alone = std::max(alone, RelativeDifference(Forward(*instance, c.Example(b, 17)),
                                               dropped.narrow(0, b, 1), 1.0));
  }
  Add("D", alone, kUnchanged, "an example's masks are the same alone and in a batch");
  if (instance->block->traits().is_padding_invariant) {
    BlockCase padded(2131, 1, 40, Main().model.width());
    padded.Drop(0.4, 0);
    padded.input.run.is_tied = is_tied;
    padded.PadFrom({17});
    const BlockCase unpadded = padded.Example(0, 17);
    Add("D",
        RelativeDifference(Forward(*instance, padded).narrow(1, 0, 17),
                           Forward(*instance, unpadded), 1.0),
        kUnchanged, "padding does not move the masks");
  }
  const auto change = [&](const BlockInstance& other, const BlockCase& changed) {
    return MaxDifference(Forward(other, changed), dropped);
  };
  BlockCase later = c, others = c, second = c;
  later.Drop(0.4, 0, c.input.run.step + 1);
  others.input.run.example_ids = c.input.run.example_ids + 7;
  second.input.run.first_site = 1 << 16;
  Variant next_layer = Main();
  next_layer.index = 1;
  AddVisible("D", change(*instance, later), "another step, other masks");
  AddVisible("D", change(*instance, others), "other examples, other masks");
  AddVisible("D", change(*instance, second), "second texts have masks of their own");
  AddVisible("D", change(*Make(next_layer), c), "another layer, other masks");
  BlockCase evaluation = c;
  evaluation.Drop(0, 0, 1);
  const at::Tensor first = Forward(*instance, evaluation);
  evaluation.Drop(0, 0, 2);
  Add("D", MaxDifference(Forward(*instance, evaluation), first), 0,
      "without dropout the step does not matter");
}

void BlockSuite::Repeats() {
  Variant variant = Main();
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    variant.type = type;
    const Instance instance = Make(variant);
    BlockCase c(2140, 2, 31, variant.model.width(), type);
    c.PadRandomly(2141);
    c.Drop(0.2, 0);
    const BlockOutcome first = RunFast(*instance, c);
    Add("T10", OutcomeDifference(RunFast(*instance, c), first, c), 0,
        "the same twice gives the same bits");
    Add("T10", OutcomeDifference(RunFast(variant, c), first, c), 0,
        "made anew with the same seed it gives the same bits");
  }
}

}  // namespace lra::internal
