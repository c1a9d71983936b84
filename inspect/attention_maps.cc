#include "inspect/attention_maps.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/loader.h"
#include "datasets/npy.h"
#include "eval/attention_map.h"
#include "eval/heat_map.h"
#include "inspect/open_checkpoint.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/attention_weights.h"
#include "models/base/torch_status.h"
#include "run_folder/test_looks.h"
#include "train/micro_batch.h"

namespace lra {
namespace {

// Sums of maps by (layer, head).
using HeadSums = std::map<std::pair<int64_t, int64_t>, AttentionMapSum>;

struct Selected {
  std::vector<int64_t> examples;
  int64_t skipped = 0;
};

absl::StatusOr<Selected> SelectExamples(const AttendRequest& request,
                                        const OpenedCheckpoint& opened) {
  const bool has_cls = opened.state.config().model().pooling() == ModelConfig::CLS;
  const int64_t least = opened.model->depends_on_padding() ? opened.split.fixed_length_tokens() : 0;
  Selected selected;
  int64_t shortest = 0, longer = 0;
  for (int64_t i = 0; i < opened.split.size(); ++i) {
    if (static_cast<int64_t>(selected.examples.size()) == request.examples) break;
    const int64_t tokens =
        std::max<int64_t>(opened.split.longest_tokens(i), least) + (has_cls ? 1 : 0);
    shortest = shortest == 0 ? tokens : std::min(shortest, tokens);
    if (tokens > request.max_tokens) {
      ++longer;
      continue;
    }
    selected.skipped = longer;
    selected.examples.push_back(i);
  }
  if (!selected.examples.empty()) return selected;
  return absl::InvalidArgumentError(absl::StrCat(
      "--max-tokens: is ", request.max_tokens, ", but the shortest example of split ",
      request.split, " has ", shortest, " tokens; a map needs 4 bytes times the square of that"));
}

absl::Status CheckLayer(const AttendRequest& request, int64_t layers) {
  if (!request.layer || (*request.layer >= 0 && *request.layer < layers)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--layer: is ", *request.layer, ", must be 0 to ", layers - 1));
}

// Adds the weights [1, H, N, N] of one example in one layer.
absl::Status AddWeights(const AttendRequest& request, int64_t layer, const at::Tensor& weights,
                        HeadSums* sums) {
  const at::Tensor dense = weights.to(at::kFloat).contiguous();
  const int64_t heads = dense.size(1), rows = dense.size(2), columns = dense.size(3);
  if (request.head && (*request.head < 0 || *request.head >= heads)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--head: is ", *request.head, ", must be 0 to ", heads - 1));
  }
  for (int64_t head = 0; head < heads; ++head) {
    if (request.head && head != *request.head) continue;
    const auto sum =
        sums->try_emplace(std::pair(layer, head), AttentionMapSum(request.threshold)).first;
    const float* values = dense.const_data_ptr<float>() + head * rows * columns;
    sum->second.Add(absl::MakeConstSpan(values, static_cast<size_t>(rows * columns)), rows,
                    columns);
  }
  return absl::OkStatus();
}

absl::Status SumExamples(const AttendRequest& request, const OpenedCheckpoint& opened,
                         const Selected& selected, HeadSums* sums, bool* has_coverage) {
  const c10::NoGradGuard no_grad;
  Progress progress({.label = "attend",
                     .unit = "examples",
                     .total = static_cast<int64_t>(selected.examples.size()),
                     .quiet = request.quiet});
  int64_t done = 0;
  for (const int64_t example : selected.examples) {
    absl::Status status;
    const auto visit = [&](int64_t layer, const Attention& attention, const AttentionInput& input) {
      *has_coverage = attention.traits().is_row_stochastic;
      if (!status.ok() || (request.layer && layer != *request.layer)) return;
      const absl::StatusOr<at::Tensor> weights = ImpliedWeights(attention, input);
      status = weights.ok() ? AddWeights(request, layer, *weights, sums) : weights.status();
    };
    const HostBatch batch = MakeBatch(opened.split, {example});
    opened.model->VisitAttention(opened.model->depends_on_padding() ? batch : TrimPadding(batch),
                                 visit);
    LRA_RETURN_IF_ERROR(status);
    progress.Update(++done);
  }
  progress.Finish();
  return absl::OkStatus();
}

// A map with the name of its files; averages of several heads come after the heads.
using NamedMaps = std::vector<std::pair<std::string, AttentionMap>>;

template <class MapOf>
NamedMaps NameMaps(const AttendRequest& request, const HeadSums& sums, MapOf map_of) {
  NamedMaps named;
  std::map<int64_t, std::vector<AttentionMap>> layers;
  for (const auto& [place, sum] : sums) {
    named.emplace_back(absl::StrCat("layer", place.first, "-head", place.second), map_of(sum));
    layers[place.first].push_back(named.back().second);
  }
  if (request.head) return named;
  std::vector<AttentionMap> means;
  for (const auto& [layer, heads] : layers) {
    means.push_back(AverageMap(heads));
    named.emplace_back(absl::StrCat("layer", layer), means.back());
  }
  if (!request.layer) named.emplace_back("all", AverageMap(means));
  return named;
}

// `kind` is "mean" or "coverage".
absl::Status WriteMaps(const AttendRequest& request, const NamedMaps& maps, const std::string& kind,
                       const std::string& title, Attended* attended) {
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto& [name, map] = maps[i];
    const std::string stem = absl::StrCat(name, "-", kind);
    LRA_RETURN_IF_ERROR(
        WriteNpy(JoinPath(request.out_dir, stem + ".npy"), map.values, {map.rows, map.columns}));
    LRA_ASSIGN_OR_RETURN(const std::string png,
                         HeatMapPng(map, {.title = absl::StrCat(name, ": ", title)}));
    LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(request.out_dir, stem + ".png"), png));
    if (attended->maps.size() <= i) attended->maps.push_back({name, map.rows, {}});
    attended->maps[i].files.push_back(stem + ".npy");
    attended->maps[i].files.push_back(stem + ".png");
  }
  return absl::OkStatus();
}

absl::Status WriteDescription(const AttendRequest& request, const std::string& checkpoint,
                              const std::string& data_dir, const Selected& selected,
                              const Attended& attended) {
  nlohmann::ordered_json json = {{"checkpoint", checkpoint},
                                 {"attention", attended.attention},
                                 {"data", data_dir},
                                 {"split", request.split},
                                 {"examples", selected.examples},
                                 {"max_tokens", request.max_tokens},
                                 {"threshold", request.threshold},
                                 {"coverage", attended.has_coverage}};
  for (const AttendedMap& map : attended.maps) json["maps"][map.name] = map.files;
  return WriteFileAtomically(JoinPath(request.out_dir, "maps.json"), json.dump(2) + "\n");
}

}  // namespace

absl::StatusOr<Attended> AttendCheckpoint(const AttendRequest& request) {
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(request.checkpoint));
  LRA_ASSIGN_OR_RETURN(const OpenedCheckpoint opened,
                       OpenCheckpoint({.checkpoint = checkpoint,
                                       .data_dir = request.data_dir,
                                       .split = request.split,
                                       .threads = request.threads,
                                       .allows_other_data = request.allows_other_data}));
  if (opened.state.config().attention().name() == kNoAttention) {
    return absl::InvalidArgumentError(absl::StrCat("block \"", opened.state.config().block().name(),
                                                   "\" uses no attention: there are no weights"));
  }
  LRA_RETURN_IF_ERROR(CheckLayer(request, opened.state.config().model().layers()));
  LRA_ASSIGN_OR_RETURN(const Selected selected, SelectExamples(request, opened));
  if (request.split == "test") {
    LRA_RETURN_IF_ERROR(LogTestLook(RunOf(checkpoint), request.command_line, opened.state.step()));
  }
  Attended attended;
  attended.attention = opened.state.config().attention().name();
  attended.examples = static_cast<int64_t>(selected.examples.size());
  attended.skipped = selected.skipped;
  HeadSums sums;
  LRA_RETURN_IF_ERROR(CatchTorch(
      [&] { return SumExamples(request, opened, selected, &sums, &attended.has_coverage); }));
  LRA_RETURN_IF_ERROR(MakeDirectories(request.out_dir));
  const std::string of = absl::StrCat(attended.attention, ", ", attended.examples, " examples");
  LRA_RETURN_IF_ERROR(WriteMaps(request,
                                NameMaps(request, sums, [](const auto& sum) { return sum.Mean(); }),
                                "mean", "mean weight, " + of, &attended));
  if (attended.has_coverage) {
    LRA_RETURN_IF_ERROR(WriteMaps(
        request, NameMaps(request, sums, [](const auto& sum) { return sum.Coverage(); }),
        "coverage", absl::StrFormat("coverage of %g, %s", request.threshold, of), &attended));
  }
  LRA_RETURN_IF_ERROR(
      WriteDescription(request, checkpoint, opened.data.directory(), selected, attended));
  return attended;
}

}  // namespace lra
