#include "train/initial_encoder.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/id_content.h"
#include "datasets/view.h"
#include "lra/excerpt.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/block_facts.h"
#include "models/next_token_model.h"
#include "run_folder/checkpoint.h"
#include "train/field_difference.h"

namespace lra {
namespace {

constexpr char kTokenTable[] = "embedding.token.weight";
constexpr char kPositionTable[] = "embedding.position.weight";

// What the layers compute, beside the attention. Rates of dropout and initial values may differ.
bool IsOfEncoder(absl::string_view path) {
  constexpr absl::string_view kPaths[] = {
      "model.layers",         "model.width",       "model.heads",
      "model.qkv_width",      "model.mlp_width",   "model.norm",
      "model.norm_placement", "model.final_norm",  "model.activation",
      "model.positions",      "model.stem_tokens", "model.attention_filter_tokens"};
  return absl::StartsWith(path, "block.") ||
         std::find(std::begin(kPaths), std::end(kPaths), path) != std::end(kPaths);
}

absl::Status CheckFields(const ExperimentConfig& other, const ExperimentConfig& config) {
  const auto difference = FirstFieldDifference(config, other, IsOfEncoder);
  if (!difference) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeDifference(*difference),
                   "; set it as there: an encoder is taken as it is, but for its attention"));
}

// Taps of convolutions stand for other tokens where they look back only.
absl::Status CheckTaps(const ExperimentConfig& other, const ExperimentConfig& config) {
  const bool is_causal = config.attention().causal();
  if (is_causal == other.attention().causal()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::string field, TapsField(config));
  if (field.empty()) return absl::OkStatus();
  const auto word = [](bool value) { return value ? "true" : "false"; };
  return absl::InvalidArgumentError(
      absl::StrCat("attention.causal is ", word(is_causal), ", that run has ", word(!is_causal),
                   ", and there the taps of convolutions (", field, ") stand for other tokens; ",
                   "set it as there, or take an encoder without them"));
}

// What data of this spec reads, but for the id behind all others that hides tokens: no example has
// it, so that an embedding with it serves the same data as one without.
TaskSpec WithoutHiddenId(TaskSpec spec) {
  if (!spec.hides_tokens()) return spec;
  spec.set_vocabulary_size(spec.vocabulary_size() - 1);
  if (spec.token_names_size() > 0) spec.mutable_token_names()->RemoveLast();
  return spec;
}

// Positions that a model has for tokens.
int64_t LongestTokens(const ExperimentConfig& config) { return MaxBatchTokens(config.view()); }

absl::Status CheckPositions(const ExperimentConfig& other, const ExperimentConfig& config) {
  const int64_t there = LongestTokens(other), here = LongestTokens(config);
  if (config.model().positions() != ModelConfig::LEARNED || here <= there) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("model.positions is LEARNED, and that run has learned ", there, " of the ", here,
                   " positions of view.max_length_tokens; set that to at most ",
                   other.view().max_length_tokens(), ", or take an encoder with other positions"));
}

// Whether a tensor belongs to the encoder; what pooling has of its own belongs to the head.
bool IsOfEncoderByName(absl::string_view name) {
  if (absl::StartsWith(name, "embedding.")) return true;
  return absl::StartsWith(name, "encoder.") && !absl::StartsWith(name, "encoder.query") &&
         !absl::StartsWith(name, "encoder.pooled_norm");
}

// The part behind "encoder.layer3.attention."; empty for other tensors.
absl::string_view NameInAttention(absl::string_view name) {
  constexpr absl::string_view kPart = ".attention.";
  const size_t begin = name.find(kPart);
  return begin == absl::string_view::npos ? "" : name.substr(begin + kPart.size());
}

// What a method brings along, beside the projections and the filter that all have.
bool IsAttentionsOwn(absl::string_view name) {
  const absl::string_view part = NameInAttention(name);
  if (part.empty() || part == "filter") return false;
  for (const absl::string_view shared : {"query.", "key.", "value.", "output."})
    if (absl::StartsWith(part, shared)) return false;
  return true;
}

class Taking {
 public:
  Taking(const NamedTensors& there, const CheckpointState& other, const ExperimentConfig& config,
         const TaskSpec& spec)
      : there_(there.begin(), there.end()),
        is_other_attention_(other.config().attention().name() != config.attention().name()),
        cls_there_(HasCls(other.config(), other.spec())),
        cls_here_(HasCls(config, spec)),
        hides_here_(spec.hides_tokens()) {}

  absl::Status Fill(const ParameterStore& parameters) {
    const c10::NoGradGuard no_grad;
    for (const std::vector<Parameter>* own : {&parameters.parameters(), &parameters.buffers()}) {
      for (const Parameter& parameter : *own) LRA_RETURN_IF_ERROR(FillOne(parameter));
    }
    for (const auto& [name, value] : there_) {
      if (taken_.count(name) == 0) result_.add_left(name);
    }
    return absl::OkStatus();
  }

  InitialEncoder result() const { return result_; }

 private:
  absl::Status FillOne(const Parameter& parameter) {
    const std::string& name = parameter.name;
    const auto found = there_.find(name);
    const bool is_own = IsAttentionsOwn(name);
    if (!IsOfEncoderByName(name) || found == there_.end() || (is_own && is_other_attention_)) {
      result_.add_fresh(name);
      return absl::OkStatus();
    }
    const at::Tensor values = ValuesOf(parameter, found->second);
    const at::Tensor rows = RowsFor(parameter, values.size(0), found->second);
    if (rows.sizes() != values.sizes()) {
      // What an attention has for each position, at another length.
      if (is_own) {
        result_.add_fresh(name);
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor \"", name, "\" has shape [", absl::StrJoin(found->second.sizes(), ", "),
          "] there, the model needs [", absl::StrJoin(parameter.value.sizes(), ", "), "]"));
    }
    values.copy_(rows);
    taken_.insert(name);
    result_.set_taken(result_.taken() + 1);
    result_.set_taken_values(result_.taken_values() + rows.numel());
    return absl::OkStatus();
  }

  // The values of ours that are filled from theirs. A vector in front that the other run lacks
  // keeps its own position, and the id of hidden tokens its own row.
  at::Tensor ValuesOf(const Parameter& parameter, const at::Tensor& theirs) const {
    const at::Tensor& own = parameter.value;
    if (parameter.name == kPositionTable && cls_here_ && !cls_there_)
      return own.narrow(0, 1, own.size(0) - 1);
    const bool lacks_hidden_id =
        parameter.name == kTokenTable && hides_here_ && theirs.size(0) == own.size(0) - 1;
    return lacks_hidden_id ? own.narrow(0, 0, own.size(0) - 1) : own;
  }

  // Their rows for `rows` of ours: of tokens those of all ids (a run that hides tokens has one more
  // for these), of positions those of our tokens.
  at::Tensor RowsFor(const Parameter& parameter, int64_t rows, const at::Tensor& theirs) const {
    const int64_t first = parameter.name == kPositionTable && cls_there_ && !cls_here_ ? 1 : 0;
    const bool is_table = parameter.name == kTokenTable || parameter.name == kPositionTable;
    return is_table && first + rows <= theirs.size(0) ? theirs.narrow(0, first, rows) : theirs;
  }

  const std::map<std::string, at::Tensor> there_;
  const bool is_other_attention_, cls_there_, cls_here_, hides_here_;
  std::set<std::string> taken_;
  InitialEncoder result_;
};

// "2 left (a, b)", at most four names.
std::string Named(const google::protobuf::RepeatedPtrField<std::string>& names,
                  absl::string_view what) {
  constexpr int kShown = 4;
  if (names.empty()) return absl::StrCat("none ", what);
  const auto end = names.begin() + std::min(kShown, names.size());
  return absl::StrCat(names.size(), " ", what, " (",
                      absl::StrJoin(std::vector<std::string>(names.begin(), end), ", "),
                      names.size() > kShown ? ", ..." : "", ")");
}

}  // namespace

absl::Status CheckSameEncoder(const CheckpointState& other, const ExperimentConfig& config,
                              const TaskSpec& spec) {
  const std::string there = IdContent(WithoutHiddenId(other.spec()), other.config().view());
  const std::string here = IdContent(WithoutHiddenId(spec), config.view());
  if (there != here) {
    constexpr size_t kShown = 120;
    return absl::InvalidArgumentError(
        absl::StrCat("that run (task ", other.config().task(), ") reads ", Excerpt(there, kShown),
                     ", task ", config.task(), " reads ", Excerpt(here, kShown),
                     "; an embedding serves data whose ids mean the same"));
  }
  return CheckSameLayers(other, config);
}

absl::Status CheckSameLayers(const CheckpointState& other, const ExperimentConfig& config) {
  LRA_RETURN_IF_ERROR(CheckFields(other.config(), config));
  LRA_RETURN_IF_ERROR(CheckTaps(other.config(), config));
  return CheckPositions(other.config(), config);
}

absl::StatusOr<InitialEncoder> TakeEncoder(const std::string& checkpoint,
                                           const CheckpointState& other,
                                           const ExperimentConfig& config, const TaskSpec& spec,
                                           const ParameterStore& parameters) {
  LRA_RETURN_IF_ERROR(CheckSameEncoder(other, config, spec));
  LRA_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadWeights(checkpoint, other));
  Taking taking(tensors, other, config, spec);
  LRA_RETURN_IF_ERROR(taking.Fill(parameters));
  InitialEncoder result = taking.result();
  result.set_task(other.config().task());
  result.set_method(MethodOf(other.config()));
  result.set_seed(other.config().seed());
  result.set_step(other.step());
  result.set_config_fingerprint(Fingerprint(other.config()));
  return result;
}

std::string DescribeInitialEncoder(const InitialEncoder& taken) {
  return absl::StrCat(taken.task(), ", ", taken.method(), ", seed ", taken.seed(), ", step ",
                      FormatCount(taken.step()), ": ", taken.taken(), " tensors (",
                      FormatCount(taken.taken_values()), " numbers) taken, ",
                      Named(taken.left(), "left"), ", ", Named(taken.fresh(), "new"));
}

std::string LengthWarning(const CheckpointState& other, const ExperimentConfig& config) {
  const int64_t there = LongestTokens(other.config()), here = LongestTokens(config);
  if (here <= there || config.model().positions() == ModelConfig::NO_POSITIONS) return "";
  return absl::StrCat("view.max_length_tokens is ", config.view().max_length_tokens(),
                      ", and the encoder that training starts from has seen at most ", there,
                      " tokens: what stands behind them has positions that are new to it");
}

}  // namespace lra
