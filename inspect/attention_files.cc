#include "inspect/attention_files.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/npy.h"
#include "eval/heat_map.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

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

// What the files of one kind have in common.
struct Kind {
  std::string name;  // "mean", "coverage", "reweighting" or "picture": NAME-mean.npy
  HeatMapLabels labels;
};

absl::Status WriteMaps(const AttendRequest& request, const NamedMaps& maps, const Kind& kind,
                       Attended* attended) {
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto& [name, map] = maps[i];
    const std::string stem = absl::StrCat(name, "-", kind.name);
    LRA_RETURN_IF_ERROR(
        WriteNpy(JoinPath(request.out_dir, stem + ".npy"), map.values, {map.rows, map.columns}));
    HeatMapLabels labels = kind.labels;
    labels.title = absl::StrCat(name, ": ", kind.labels.title);
    LRA_ASSIGN_OR_RETURN(const std::string png, HeatMapPng(map, labels));
    LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(request.out_dir, stem + ".png"), png));
    if (attended->maps.size() <= i) attended->maps.push_back({name, map.rows, {}});
    attended->maps[i].files.push_back(stem + ".npy");
    attended->maps[i].files.push_back(stem + ".png");
  }
  return absl::OkStatus();
}

NamedMaps Pictures(NamedMaps maps, const PictureKeys& picture) {
  for (auto& [name, map] : maps) map = ReceivedPicture(map, picture.first_key, picture.side);
  return maps;
}

// "linear, 16 examples"; "linear, example 3 of validation".
std::string Subject(const AttendRequest& request, const Attended& attended) {
  return absl::StrCat(attended.attention, ", ",
                      request.example
                          ? absl::StrCat("example ", *request.example, " of ", request.split)
                          : absl::StrCat(attended.examples.size(), " examples"));
}

}  // namespace

absl::Status WriteMapFiles(const AttendRequest& request, const HeadSums& sums,
                           const HeadSums& reweightings, const PictureKeys& picture,
                           Attended* attended) {
  const std::string of = Subject(request, *attended);
  const NamedMaps means = NameMaps(request, sums, [](const auto& sum) { return sum.Mean(); });
  Kind kind = {"mean", {.title = "mean weight, " + of, .tokens = attended->tokens}};
  LRA_RETURN_IF_ERROR(WriteMaps(request, means, kind, attended));
  if (attended->has_coverage) {
    kind.name = "coverage";
    kind.labels.title = absl::StrFormat("coverage of %g, %s", request.threshold, of);
    const auto coverage = NameMaps(request, sums, [](const auto& sum) { return sum.Coverage(); });
    LRA_RETURN_IF_ERROR(WriteMaps(request, coverage, kind, attended));
  }
  if (!reweightings.empty()) {
    kind = {"reweighting", {.title = "weight of equal keys, own = 1, " + attended->attention}};
    const auto maps = NameMaps(request, reweightings, [](const auto& sum) { return sum.Mean(); });
    LRA_RETURN_IF_ERROR(WriteMaps(request, maps, kind, attended));
  }
  if (picture.side == 0) return absl::OkStatus();
  return WriteMaps(
      request, Pictures(means, picture),
      {"picture",
       {.title = "weight received, " + of, .rows = "pixel row", .columns = "pixel column"}},
      attended);
}

}  // namespace lra
