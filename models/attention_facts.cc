#include "models/attention_facts.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "models/attention_names.h"
#include "models/base/shapes_only.h"
#include "models/base/torch_status.h"
#include "models/encoder/sequences.h"
#include "models/interface/create.h"

namespace lra {
namespace {

absl::StatusOr<AttentionFacts> Make(absl::string_view name, const google::protobuf::Any& options,
                                    const AttentionSizes& sizes) {
  const ShapesOnlyScope shapes_only;
  ParameterStore parameters(0);
  AttentionContext context = {sizes};
  context.parameters = &parameters;
  context.options = options;
  AttentionFacts made;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Attention> attention,
                         CreateAttention(name, context));
    made.traits = attention->traits();
    return absl::OkStatus();
  }));
  for (const Parameter& p : parameters.parameters())
    made.owned.push_back({p.name, p.value.sizes().vec(), "", true});
  for (const Parameter& p : parameters.buffers())
    made.owned.push_back({p.name, p.value.sizes().vec(), "", false});
  return made;
}

// A formula that an axis may follow. The first one that agrees for all sizes tried is taken.
struct Formula {
  const char* letters;
  int64_t (*of)(const AttentionSizes&);
};
constexpr Formula kFormulas[] = {
    {"H", [](const AttentionSizes& s) { return s.heads; }},
    {"D", [](const AttentionSizes& s) { return s.head_width; }},
    {"E", [](const AttentionSizes& s) { return s.model_width; }},
    {"L", [](const AttentionSizes& s) { return s.max_length_tokens; }},
    {"H D", [](const AttentionSizes& s) { return s.heads * s.head_width; }},
    {"2 D", [](const AttentionSizes& s) { return 2 * s.head_width; }},
    {"2 E", [](const AttentionSizes& s) { return 2 * s.model_width; }},
    {"3 H D", [](const AttentionSizes& s) { return 3 * s.heads * s.head_width; }},
    {"2 L - 1", [](const AttentionSizes& s) { return 2 * s.max_length_tokens - 1; }},
    {"L + 1", [](const AttentionSizes& s) { return s.max_length_tokens + 1; }},
};

// The attention, made for several sizes, each of which differs from the given ones in one number.
// Sizes that the attention refuses are left out.
class Probes {
 public:
  Probes(absl::string_view name, const google::protobuf::Any& options,
         const AttentionSizes& sizes) {
    for (int64_t AttentionSizes::*number :
         {&AttentionSizes::heads, &AttentionSizes::head_width, &AttentionSizes::model_width,
          &AttentionSizes::max_length_tokens}) {
      AttentionSizes other = sizes;
      other.*number *= 2;
      absl::StatusOr<AttentionFacts> made = Make(name, options, other);
      if (made.ok()) probes_.emplace_back(other, *std::move(made));
    }
  }

  std::string Letters(const AttentionSizes& sizes, size_t tensor,
                      const std::vector<int64_t>& shape) const {
    std::vector<std::string> axes;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      axes.push_back(AxisLetters(sizes, tensor, axis, shape[axis]));
    return absl::StrCat("[", absl::StrJoin(axes, ", "), "]");
  }

 private:
  // Returns nullopt where the attention made has no such axis.
  static std::optional<int64_t> Extent(const AttentionFacts& made, size_t tensor, size_t axis) {
    if (tensor >= made.owned.size() || axis >= made.owned[tensor].shape.size()) return std::nullopt;
    return made.owned[tensor].shape[axis];
  }

  std::string AxisLetters(const AttentionSizes& sizes, size_t tensor, size_t axis,
                          int64_t extent) const {
    const bool is_constant = std::all_of(probes_.begin(), probes_.end(), [&](const auto& probe) {
      return Extent(probe.second, tensor, axis) == extent;
    });
    if (is_constant) return absl::StrCat(extent);
    for (const Formula& formula : kFormulas) {
      const bool agrees = std::all_of(probes_.begin(), probes_.end(), [&](const auto& probe) {
        return Extent(probe.second, tensor, axis) == formula.of(probe.first);
      });
      if (agrees && formula.of(sizes) == extent) return formula.letters;
    }
    return absl::StrCat(extent, " (of ", Causes(sizes, tensor, axis, extent), ")");
  }

  // Returns the letters of the sizes that an axis follows in some way without a formula.
  std::string Causes(const AttentionSizes& sizes, size_t tensor, size_t axis,
                     int64_t extent) const {
    std::vector<std::string> causes;
    for (const auto& [other, made] : probes_) {
      if (Extent(made, tensor, axis) == extent) continue;
      causes.push_back(other.heads != sizes.heads               ? "H"
                       : other.head_width != sizes.head_width   ? "D"
                       : other.model_width != sizes.model_width ? "E"
                                                                : "L");
    }
    return absl::StrJoin(causes, ", ");
  }

  std::vector<std::pair<AttentionSizes, AttentionFacts>> probes_;
};

std::string CausalityWords(const Traits& traits) {
  switch (traits.causality) {
    case Causality::kNever:
      return traits.causal_reason.empty() ? "no" : absl::StrCat("no: ", traits.causal_reason);
    case Causality::kOptional:
      return "on request: attention.causal=true";
    case Causality::kAlways:
      return absl::StrCat("always: a token sees itself and earlier ones only",
                          traits.causal_reason.empty() ? "" : "; ", traits.causal_reason);
  }
  return "";
}

std::string ProjectionWords(Projections projections) {
  switch (projections) {
    case Projections::kQueryKeyValue:
      return "query, key, value and output";
    case Projections::kSharedQueryKey:
      return "query (also the key), value and output";
    case Projections::kNone:
      return "none: heads are slices of the layer's input";
  }
  return "";
}

}  // namespace

std::vector<std::string> AttentionNames() { return AttentionRegistry::Get().Names(); }

AttentionSizes SizesOf(const ExperimentConfig& config) {
  const ModelConfig& model = config.model();
  return {model.heads(), model.qkv_width() / model.heads(), model.width(), LongestSequence(config)};
}

absl::StatusOr<AttentionFacts> DescribeAttention(absl::string_view name,
                                                 const google::protobuf::Any& options,
                                                 const AttentionSizes& sizes) {
  LRA_ASSIGN_OR_RETURN(AttentionFacts facts, Make(name, options, sizes));
  if (facts.owned.empty()) return facts;
  const Probes probes(name, options, sizes);
  for (size_t i = 0; i < facts.owned.size(); ++i)
    facts.owned[i].letters = probes.Letters(sizes, i, facts.owned[i].shape);
  return facts;
}

std::vector<std::pair<std::string, std::string>> TraitsInWords(const Traits& traits) {
  const auto choose = [](bool value, const char* yes, const char* no) { return value ? yes : no; };
  return {
      {"weights", choose(traits.is_exact_softmax, "exact softmax of the scaled products",
                         choose(!traits.has_weights, "none that do not depend on the values",
                                choose(traits.is_row_stochastic, ">= 0, each row sums to 1",
                                       "of any sign and sum")))},
      {"order of keys", choose(traits.is_permutation_invariant, "does not matter", "matters")},
      {"padding", traits.is_padding_invariant ? "changes nothing"
                                              : absl::StrCat("matters: ", traits.padding_reason)},
      {"causal", CausalityWords(traits)},
      {"streaming", choose(traits.supports_streaming, "yes, token by token", "no")},
      {"cross", choose(traits.supports_cross, "yes: keys of another sequence", "no")},
      {"weight dropout", choose(traits.supports_weight_dropout, "yes: attention.dropout",
                                "no: it has no explicit weights to drop")},
      {"inner dropout", choose(traits.supports_inner_dropout, "yes: model.inner_dropout",
                               "no: it has no activation behind the mixing")},
      {"longest sequence",
       choose(traits.is_length_bound, "bound: longer ones than it was made for are refused",
              "not bound by what it owns")},
      {"bfloat16", traits.bfloat16_reason.empty()
                       ? "rounded q, k and v move the output by a few roundings"
                       : absl::StrCat("unstable: ", traits.bfloat16_reason)},
      {"projections", ProjectionWords(traits.projections)},
      {"layer input", choose(traits.uses_layer_input, "read beside q, k and v", "not read")},
      {"time", traits.time_order},
      {"memory", traits.memory_order},
  };
}

}  // namespace lra
