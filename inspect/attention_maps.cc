#include "inspect/attention_maps.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "datasets/id_content.h"
#include "datasets/loader.h"
#include "datasets/token_text.h"
#include "inspect/attended_examples.h"
#include "inspect/attention_files.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/attention_weights.h"
#include "models/base/torch_status.h"

namespace lra {
namespace {

constexpr char kDescriptionFile[] = "maps.json";

// The side of pictures whose pixels are tokens; otherwise 0.
int SideOfMap(const OpenedCheckpoint& opened) {
  const TaskSpec& spec = opened.split.spec();
  return spec.pixel_tokens() > 1 ? 0 : spec.image_side_pixels();
}

int64_t MaxTokens(const AttendRequest& request, const OpenedCheckpoint& opened) {
  return request.max_tokens.value_or(SideOfMap(opened) > 0 ? kMaxImageMapTokens : kMaxMapTokens);
}

// Fills examples and skipped.
absl::Status SelectExamples(const AttendRequest& request, const OpenedCheckpoint& opened,
                            Attended* attended) {
  attended->max_tokens = MaxTokens(request, opened);
  LRA_ASSIGN_OR_RETURN(
      const ChosenExamples chosen,
      ChooseExamples({request.examples, request.example, attended->max_tokens}, opened));
  attended->examples = chosen.examples;
  attended->skipped = chosen.passed_over;
  return absl::OkStatus();
}

// TokenText(), but for code points that are ASCII, which are shown as bytes are: "a", not "U+0061".
std::string ShownToken(const TaskSpec& spec, int32_t id) {
  std::string name = TokenText(spec, id);
  absl::string_view digits = name;
  uint32_t code_point = 0;
  const bool is_code_point = spec.content() == TaskSpec::TEXT &&
                             absl::ConsumePrefix(&digits, "U+") &&
                             absl::SimpleHexAtoi(digits, &code_point);
  if (!is_code_point || code_point >= 0x80) return name;
  TaskSpec bytes;
  bytes.set_content(TaskSpec::TEXT);
  return TokenText(bytes, FirstId(bytes) + static_cast<int32_t>(code_point));
}

// What the tokens of a single example stand for as the model reads it, hidden ones as "<mask>"; CLS
// stands in front. Empty unless all are known.
std::vector<std::string> TokensOf(const OpenedCheckpoint& opened, const Attended& attended) {
  const TaskSpec& spec = opened.split.spec();
  if (attended.examples.size() != 1 || spec.is_pair() || spec.is_real()) return {};
  const HostBatch batch = MakeBatch(opened.split, {attended.examples.front()});
  std::vector<std::string> tokens;
  if (HasCls(opened)) tokens.emplace_back("<cls>");
  for (int32_t i = 0; i < batch.lengths.front(); ++i) {
    tokens.push_back(ShownToken(spec, batch.tokens[i]));
    if (tokens.back().empty()) return {};
  }
  // Where padding affects the model, the map has a row for each padded token, too.
  tokens.resize(TokensSeen(opened, attended.examples.front()), "<pad>");
  return tokens;
}

absl::Status CheckHead(const AttendRequest& request, int64_t heads) {
  if (!request.head || (*request.head >= 0 && *request.head < heads)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--head: is ", *request.head, ", must be 0 to ", heads - 1));
}

absl::Status CheckLayer(const AttendRequest& request, int64_t layers) {
  if (!request.layer || (*request.layer >= 0 && *request.layer < layers)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--layer: is ", *request.layer, ", must be 0 to ", layers - 1));
}

// Refuses what no map can be made of before it is looked at and all is computed: a run of the model
// on one example says what attention it has, of how many heads.
absl::Status CheckAttention(const AttendRequest& request, const OpenedCheckpoint& opened,
                            int64_t example) {
  const c10::NoGradGuard no_grad;
  absl::Status status;
  VisitExample(opened, example,
               [&](int64_t, const Attention& attention, const AttentionInput& input) {
                 status.Update(CheckHasWeights(attention));
                 status.Update(CheckHead(request, input.q.size(1)));
               });
  return status;
}

// Adds the weights [1, H, N, N] of one example in one layer.
void AddWeights(const AttendRequest& request, int64_t layer, const at::Tensor& weights,
                HeadSums* sums) {
  const at::Tensor dense = weights.to(at::kCPU, at::kFloat).contiguous();
  const int64_t heads = dense.size(1), rows = dense.size(2), columns = dense.size(3);
  for (int64_t head = 0; head < heads; ++head) {
    if (request.head && head != *request.head) continue;
    const auto sum =
        sums->try_emplace(std::pair(layer, head), AttentionMapSum(request.threshold)).first;
    const float* values = dense.const_data_ptr<float>() + head * rows * columns;
    sum->second.Add(absl::MakeConstSpan(values, static_cast<size_t>(rows * columns)), rows,
                    columns);
  }
}

// Adds what positions alone do in one layer; nothing where that is nothing, where it depends on the
// layer's input, or where a query gives its own position no weight.
absl::Status AddReweighting(const AttendRequest& request, int64_t layer, const Attention& attention,
                            const AttentionInput& input, int64_t tokens, HeadSums* reweightings) {
  if (attention.traits().uses_layer_input) return absl::OkStatus();
  AttentionInput equal;
  equal.q = equal.k = at::ones({1, input.q.size(1), tokens, input.q.size(3)}, input.q.options());
  equal.causal = input.causal;
  LRA_ASSIGN_OR_RETURN(const at::Tensor weights, ImpliedWeights(attention, equal));
  const at::Tensor ratios = weights / weights.diagonal(0, 2, 3).unsqueeze(-1);
  if (!at::isfinite(ratios).all().item<bool>()) return absl::OkStatus();
  constexpr double kRounding = 1e-4;
  if ((ratios - 1).abs().max().item<double>() < kRounding) return absl::OkStatus();
  AddWeights(request, layer, ratios, reweightings);
  return absl::OkStatus();
}

// What the examples are summed to.
struct MapSums {
  HeadSums weights, reweightings;
};

// Fills *sums and has_coverage.
absl::Status SumExamples(const AttendRequest& request, const OpenedCheckpoint& opened,
                         MapSums* sums, Attended* attended) {
  const c10::NoGradGuard no_grad;
  int64_t longest = 0;
  for (const int64_t example : attended->examples)
    longest = std::max(longest, TokensSeen(opened, example));
  Progress progress({.label = "attend",
                     .unit = "examples",
                     .total = static_cast<int64_t>(attended->examples.size()),
                     .quiet = request.quiet});
  int64_t done = 0;
  for (const int64_t example : attended->examples) {
    absl::Status status;
    const auto visit = [&](int64_t layer, const Attention& attention, const AttentionInput& input) {
      attended->has_coverage = attention.traits().is_row_stochastic;
      if (!status.ok() || (request.layer && layer != *request.layer)) return;
      const absl::StatusOr<at::Tensor> weights = ImpliedWeights(attention, input);
      status = weights.status();
      if (!status.ok()) return;
      AddWeights(request, layer, *weights, &sums->weights);
      if (done > 0) return;
      status = AddReweighting(request, layer, attention, input, longest, &sums->reweightings);
    };
    VisitExample(opened, example, visit);
    LRA_RETURN_IF_ERROR(status);
    progress.Update(++done);
  }
  progress.Finish();
  return absl::OkStatus();
}

absl::Status WriteDescription(const AttendRequest& request, const Look& look,
                              const Attended& attended) {
  nlohmann::ordered_json json = {
      {"checkpoint", look.checkpoint},        {"attention", attended.attention},
      {"data", look.opened.data.directory()}, {"split", request.split},
      {"examples", attended.examples},        {"max_tokens", attended.max_tokens},
      {"threshold", request.threshold},       {"coverage", attended.has_coverage}};
  for (const AttendedMap& map : attended.maps) json["maps"][map.name] = map.files;
  if (!attended.tokens.empty()) json["tokens"] = attended.tokens;
  return WriteFileAtomically(JoinPath(request.out_dir, kDescriptionFile), JsonText(json) + "\n");
}

}  // namespace

absl::StatusOr<Attended> AttendCheckpoint(const AttendRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Look look, OpenLook(request));
  const OpenedCheckpoint& opened = look.opened;
  LRA_RETURN_IF_ERROR(CheckHasWeights(opened.state.config()));
  LRA_RETURN_IF_ERROR(CheckLayer(request, opened.state.config().model().layers()));
  Attended attended;
  attended.attention = opened.state.config().attention().name();
  LRA_RETURN_IF_ERROR(SelectExamples(request, opened, &attended));
  attended.tokens = TokensOf(opened, attended);
  LRA_RETURN_IF_ERROR(
      CatchTorch([&] { return CheckAttention(request, opened, attended.examples.front()); }));
  LRA_RETURN_IF_ERROR(MakeDirectories(request.out_dir));
  LRA_RETURN_IF_ERROR(CheckCanWrite(JoinPath(request.out_dir, kDescriptionFile)));
  LRA_RETURN_IF_ERROR(LogLook(request, look));
  MapSums sums;
  LRA_RETURN_IF_ERROR(CatchTorch([&] { return SumExamples(request, opened, &sums, &attended); }));
  const PictureKeys picture = {.side = SideOfMap(opened), .first_key = HasCls(opened) ? 1 : 0};
  LRA_RETURN_IF_ERROR(WriteMapFiles(request, sums.weights, sums.reweightings, picture, &attended));
  LRA_RETURN_IF_ERROR(WriteDescription(request, look, attended));
  return attended;
}

}  // namespace lra
