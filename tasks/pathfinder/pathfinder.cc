// Pathfinder (Linsley et al. 2018; Kim et al. 2020) as in the Long-Range Arena (Tay et al. 2021):
// do the two discs of a picture lie on the same dashed contour? It is read pixel by pixel. The
// sizes 32, 64, 128 (Path-X) and 256 are separate tasks.
//
//   source: n x n grey bytes     label: 1 on the same contour, 0 on different ones
//   sizes:  200,000 images of one difficulty, stored whole; the view cuts 80/10/10 %
//   raw:    a seed (the generator is native), or pathfinder<n>/ of lra_release.gz
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "datasets/png.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/linear_baseline.h"
#include "tasks/pathfinder/generator.h"
#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/oracle.h"
#include "tasks/pathfinder/pathfinder.pb.h"
#include "tasks/pathfinder/tree_reader.h"
#include "tasks/picture.h"
#include "tasks/quarters.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"

namespace lra {
namespace {

using namespace pathfinder;  // the task's own names

constexpr int kTipValues = 8;  // four tips: origin and terminal of contour 0, then of contour 1

std::string DifficultyFolder(PathfinderOptions::Difficulty difficulty) {
  switch (difficulty) {
    case PathfinderOptions::EASY:
      return "curv_baseline";
    case PathfinderOptions::INTERMEDIATE:
      return "curv_contour_length_9";
    default:
      return "curv_contour_length_14";
  }
}

// The distance between two neighbouring tips (y, x, y, x) that begin at `first`.
double Distance(const std::vector<int16_t>& tips, size_t first) {
  return std::hypot(tips[first] - tips[first + 2], tips[first + 1] - tips[first + 3]);
}

class PathfinderTask : public Task {
 public:
  PathfinderTask(std::string name, PathfinderGenerator generator)
      : name_(std::move(name)),
        generator_(std::move(generator)),
        oracle_(Side(), generator_.options().marker_radius_pixels(),
                generator_.options().antialias_scale()) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name(name_);
    spec.set_version(1);
    spec.set_content(TaskSpec::GREY_IMAGE);
    spec.set_image_side_pixels(Side());
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(Side() * Side());
    spec.set_classes(2);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{std::string(kAllSplit), generator_.options().images()}};
  }

  bool CanGenerate() const override { return true; }

  std::vector<ExtraColumn> ExtraColumns() const override {
    ExtraColumn tips;
    tips.set_name("tips");
    tips.add_shape(4);
    tips.add_shape(2);
    return {tips};
  }

  absl::StatusOr<EncodedExample> Generate(uint32_t seed, uint32_t split, uint32_t index,
                                          uint32_t* attempt) const override {
    RandomStream random(seed, domain_, {*attempt, index, Kind()});
    PathfinderImage image;
    LRA_RETURN_IF_ERROR(generator_.Draw(&random, &image));
    EncodedExample example;
    example.tokens.assign(image.pixels.begin(), image.pixels.end());
    example.label = image.label;
    example.is_ambiguous = image.ambiguous;
    for (int contour = 0; contour < 2; ++contour) {
      for (const Tip& tip : {image.tips.origins[contour], image.tips.terminals[contour]}) {
        example.extra.push_back(tip.y);
        example.extra.push_back(tip.x);
      }
    }
    return example;
  }

  std::string RawDescription() const override {
    return absl::StrCat("lra_release.gz, or a folder or archive with ", Root());
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return MakeTreeReader(std::move(source),
                          {Side(), DifficultyFolder(generator_.options().difficulty()),
                           generator_.options().contour_paddles()});
  }

  // The label stands in the metadata (RawReader::Order), not in the image.
  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    LRA_ASSIGN_OR_RETURN(const std::vector<uint8_t> pixels, DecodeGreyPng(raw.bytes, Side()));
    EncodedExample example;
    example.tokens.assign(pixels.begin(), pixels.end());
    example.label = raw.label;
    return example;
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    const std::vector<uint8_t> pixels(example.tokens.begin(), example.tokens.end());
    RawExample raw;
    LRA_ASSIGN_OR_RETURN(raw.bytes, EncodePng(pixels, Side(), Side(), 1));
    raw.label = example.label;
    return raw;
  }

  // Writes two batches of generated images, and an empty file as the release has one.
  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    constexpr uint32_t kBatches = 2, kImages = 12;
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
      std::string metadata;
      for (uint32_t i = 0; i < kImages; ++i) {
        uint32_t attempt = 0;
        LRA_ASSIGN_OR_RETURN(const EncodedExample example,
                             Generate(seed, 0, batch * kImages + i, &attempt));
        LRA_ASSIGN_OR_RETURN(RawExample raw, ToRaw(example));
        if (batch == 1 && i == 3) raw.bytes.clear();
        const std::string path = absl::StrCat("imgs/", batch, "/sample_", i, ".png");
        LRA_RETURN_IF_ERROR(WriteSampleFile(folder, absl::StrCat(Root(), "/", path), raw.bytes));
        absl::StrAppend(&metadata, "imgs/", batch, " sample_", i, ".png ", i, " ", example.label,
                        " 1.0 ", generator_.options().contour_paddles(), " 4 2 0.5 1 1\n");
      }
      LRA_RETURN_IF_ERROR(
          WriteSampleFile(folder, absl::StrCat(Root(), "/metadata/", batch, ".npy"), metadata));
    }
    return std::vector<int64_t>{kBatches * kImages - 1};
  }

  bool HasOracle(absl::string_view origin) const override { return origin == "generated"; }

  absl::StatusOr<std::optional<int32_t>> OracleLabel(const StoredExample& example) const override {
    if (example.extra.size() != kTipValues) {
      return absl::InvalidArgumentError("its tips are missing");
    }
    for (int16_t coordinate : example.extra) {
      if (coordinate >= 0 && coordinate < Side()) continue;
      return absl::InvalidArgumentError(absl::StrCat("a tip has coordinate ", coordinate, "; 0 to ",
                                                     Side() - 1, " are possible"));
    }
    const auto tip = [&](int i) { return Tip{example.extra[2 * i], example.extra[2 * i + 1]}; };
    const ContourTips tips{{tip(0), tip(2)}, {tip(1), tip(3)}};
    if (tips.terminals[0] == tips.terminals[1]) return std::nullopt;
    const std::vector<uint8_t> pixels(example.tokens.begin(), example.tokens.end());
    const std::optional<int> label = oracle_.Label(pixels, tips);
    if (!label.has_value())
      return absl::InvalidArgumentError("its discs are not at the stored tips");
    return *label;
  }

  std::string ToText(const StoredExample& example) const override {
    return PictureText(Spec(), example.tokens);
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return PixelBaselines();
  }

  // All contours have equally many dashes, so what varies is how far they reach. The ends are
  // stored with generated images only.
  absl::StatusOr<std::vector<Strata>> StrataOf(const SplitView& train, const SplitView& split,
                                               const DataView& view, int threads) const override {
    std::vector<double> reaches;
    for (int64_t i = 0; i < split.size(); ++i) {
      const std::vector<int16_t> tips = split.Extra(i);
      if (tips.size() != kTipValues) return std::vector<Strata>();
      reaches.push_back((Distance(tips, 0) + Distance(tips, 4)) / 2);
    }
    return std::vector<Strata>{QuartersOf(
        "contour reach",
        absl::StrCat("the distance in pixels between the two ends of a target contour of ",
                     generator_.options().contour_paddles(),
                     " dashes, averaged over both; quarters of the split"),
        reaches)};
  }

 private:
  // Each size and difficulty draws from a stream of its own; otherwise image i would have the same
  // label in all of them.
  uint32_t Kind() const {
    return static_cast<uint32_t>(Side()) << 16 |
           static_cast<uint32_t>(generator_.options().contour_paddles());
  }
  int Side() const { return generator_.options().side_pixels(); }
  std::string Root() const {
    return absl::StrCat("pathfinder", Side(), "/",
                        DifficultyFolder(generator_.options().difficulty()));
  }

  const std::string name_;
  const RandomDomain domain_{"pathfinder"};
  const PathfinderGenerator generator_;
  const MarkerOracle oracle_;
};

absl::StatusOr<std::unique_ptr<Task>> MakePathfinder(const std::string& name,
                                                     const google::protobuf::Any& packed) {
  PathfinderOptions options;
  LRA_RETURN_IF_ERROR(UnpackInto("task", name, packed, &options));
  absl::StatusOr<PathfinderGenerator> generator = PathfinderGenerator::Create(options);
  if (!generator.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task ", name, ": ", generator.status().message()));
  }
  return std::make_unique<PathfinderTask>(name, *std::move(generator));
}

LRA_REGISTER(TaskRegistry, "pathfinder32", [](const google::protobuf::Any& options) {
  return MakePathfinder("pathfinder32", options);
});
LRA_REGISTER(TaskRegistry, "pathfinder64", [](const google::protobuf::Any& options) {
  return MakePathfinder("pathfinder64", options);
});
LRA_REGISTER(TaskRegistry, "pathx",
             [](const google::protobuf::Any& options) { return MakePathfinder("pathx", options); });
LRA_REGISTER(TaskRegistry, "pathfinder256", [](const google::protobuf::Any& options) {
  return MakePathfinder("pathfinder256", options);
});

}  // namespace
}  // namespace lra
