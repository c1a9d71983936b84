// Compares images of the generator with a summary of images of the original program
// (tests/data/pathfinder_reference.json) and, if LRA_TEST_DATA is set, with the images of
// lra_release-sample.gz themselves. Means are compared by z-tests, distribution functions at nine
// percentiles by exact rank tests, and average images pixel by pixel, with Holm's correction over
// all tests of a test case at family-wise level 0.01. Seeds are fixed, so the outcome is too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datasets/archive.h"
#include "datasets/png.h"
#include "lra/check.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/pathfinder/generator.h"
#include "tasks/pathfinder/image_statistics_test_util.h"
#include "tasks/pathfinder/options_test_util.h"
#include "tasks/pathfinder/two_sample_test_util.h"

namespace lra::pathfinder {
namespace {

using Json = nlohmann::json;
using Tests = std::vector<std::pair<std::string, double>>;  // what was compared, and its p-value

constexpr uint32_t kFixedSeed = 20210503;  // not the canonical one
constexpr double kLevel = 0.01;

// LRA_TEST_SEED sets another seed.
uint32_t Seed() {
  const char* const text = std::getenv("LRA_TEST_SEED");
  return text == nullptr ? kFixedSeed : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

struct Sample {
  int side = 0;
  Columns columns;
  std::vector<std::vector<double>> turns_deg;  // for each image
  std::vector<std::vector<uint8_t>> images;
};

double Distance(Tip a, Tip b) { return std::hypot(a.y - b.y, a.x - b.x); }

void AppendHistory(const PathfinderImage& image, Columns* columns) {
  const Tip origin = image.tips.origins[image.marked_origin];
  const Tip terminal = image.tips.terminals[image.marked_terminal];
  const double distance = Distance(origin, terminal);
  Columns& c = *columns;
  c["label"].push_back(image.label);
  c["marker_distance"].push_back(distance);
  c[absl::StrCat("marker_distance_label_", image.label)].push_back(distance);
  c[absl::StrCat("pixel_mean_label_", image.label)].push_back(c["pixel_mean"].back());
  c["oy"].push_back(origin.y);
  c["ox"].push_back(origin.x);
  c["ty"].push_back(terminal.y);
  c["tx"].push_back(terminal.x);
  c["attempts"].push_back(static_cast<double>(image.attempts));
  c["distractors_placed"].push_back(image.distractors);
  c["distractor_attempts"].push_back(static_cast<double>(image.distractor_attempts));
  c["origin_separation"].push_back(Distance(image.tips.origins[0], image.tips.origins[1]));
  c["margin"].push_back(image.margin_pixels);
}

Sample Generate(int side, PathfinderOptions::Difficulty difficulty, int images) {
  const auto generator = PathfinderGenerator::Create(OfficialOptions(side, difficulty));
  LRA_CHECK(generator.ok()) << generator.status();
  std::vector<PathfinderImage> drawn(images);
  Sample sample;
  sample.side = side;
  sample.turns_deg.resize(images);
  const absl::Status status = ParallelFor(AvailableCores(), images, [&](int64_t i) {
    RandomStream random(Seed(), RandomDomain("pathfinder"), {0, static_cast<uint32_t>(i), 0});
    return generator->Draw(&random, &drawn[i], &sample.turns_deg[i]);
  });
  LRA_CHECK(status.ok()) << status;
  for (PathfinderImage& image : drawn) {
    AppendImageStatistics(image.pixels, side, &sample.columns);
    AppendHistory(image, &sample.columns);
    sample.images.push_back(std::move(image.pixels));
  }
  for (std::vector<double>& turns : sample.turns_deg) {
    for (double& turn : turns) turn *= 180 / std::numbers::pi;
  }
  return sample;
}

const Json& Reference() {
  static const Json* const reference = [] {
    std::ifstream file(LRA_TEST_DATA_DIR "/pathfinder_reference.json");
    LRA_CHECK(file.good());
    return new Json(Json::parse(file));
  }();
  return *reference;
}

// Compares mean and percentiles of one column.
void CompareColumn(const std::string& name, const std::vector<double>& values, const Json& expected,
                   Tests* tests) {
  const double deviation = expected["std"], size = expected["n"];
  tests->emplace_back(
      absl::StrCat(name, ", mean"),
      MeanTest(MomentsOf(values), {expected["mean"].get<double>(), deviation * deviation, size}));
  const std::vector<double> levels = Reference()["percentile_levels"];
  for (size_t i = 0; i < levels.size(); ++i) {
    tests->emplace_back(absl::StrCat(name, ", percentile ", levels[i]),
                        PercentileTest(values, expected["percentiles"][i], levels[i] / 100,
                                       static_cast<int>(size)));
  }
}

// Turns of one image depend on each other, so the error is that of the mean over images. The
// reference is assumed to have the same spread.
template <class Function>
Moments OverImages(const Sample& sample, Function function) {
  std::vector<double> means;
  for (const std::vector<double>& turns : sample.turns_deg) {
    double sum = 0;
    for (const double turn : turns) sum += function(turn);
    means.push_back(sum / static_cast<double>(turns.size()));
  }
  return MomentsOf(means);
}

void CompareTurns(const std::string& name, const Sample& sample, const Json& expected,
                  double reference_images, Tests* tests) {
  const Moments mean = OverImages(sample, [](double turn) { return turn; });
  tests->emplace_back(
      absl::StrCat(name, ", mean"),
      MeanTest(mean, {expected["mean"].get<double>(), mean.variance, reference_images}));
  const std::vector<double> levels = Reference()["percentile_levels"];
  for (size_t i = 0; i < levels.size(); ++i) {
    const double value = expected["percentiles"][i], level = levels[i] / 100;
    const Moments at_most = OverImages(sample, [&](double t) { return t <= value + 1e-4; });
    const Moments below = OverImages(sample, [&](double t) { return t < value - 1e-4; });
    // Like in PercentileTest, values equal to the percentile may lie on either side of it.
    const Moments* worse = at_most.mean < level ? &at_most : below.mean > level ? &below : nullptr;
    tests->emplace_back(
        absl::StrCat(name, ", percentile ", levels[i]),
        worse == nullptr ? 1 : MeanTest(*worse, {level, worse->variance, reference_images}));
  }
}

// The least p-value of all blocks of the average image times their number (Bonferroni), for blocks
// that are lit often enough for a normal approximation.
void CompareMeanImage(const std::string& name, const Sample& sample, const Json& expected,
                      double reference_images, Tests* tests) {
  const int blocks = static_cast<int>(expected.size()), edge = sample.side / blocks;
  double least = 1;
  int compared = 0;
  for (int block = 0; block < blocks * blocks; ++block) {
    std::vector<double> values;
    for (const std::vector<uint8_t>& image : sample.images) {
      double sum = 0;
      for (int i = 0; i < edge * edge; ++i) {
        const int y = block / blocks * edge + i / edge, x = block % blocks * edge + i % edge;
        sum += image[y * sample.side + x];
      }
      values.push_back(sum / (edge * edge));
    }
    if (std::count_if(values.begin(), values.end(), [](double v) { return v >= 16; }) < 100)
      continue;
    const Moments moments = MomentsOf(values);
    const double mean = expected[block / blocks][block % blocks];
    least = std::min(least, MeanTest(moments, {mean, moments.variance, reference_images}));
    ++compared;
  }
  EXPECT_GT(compared, blocks * blocks / 2) << name;
  tests->emplace_back(absl::StrCat(name, ", mean image"), std::min(1.0, least * compared));
}

void CompareWithSummary(const std::string& name, const Sample& sample, Tests* tests) {
  const Json& expected = Reference()[name];
  const double images = expected["images"], ones = expected["fraction_label_1"];
  const Moments label = MomentsOf(sample.columns.at("label"));
  tests->emplace_back(absl::StrCat(name, ": label"),
                      MeanTest(label, {ones, ones * (1 - ones), images}));
  for (const auto& [statistic, summary] : expected["statistics"].items()) {
    const std::string what = absl::StrCat(name, ": ", statistic);
    if (statistic == "target_turn_angle_deg") {
      CompareTurns(what, sample, summary, images, tests);
    } else {
      CompareColumn(what, sample.columns.at(statistic), summary, tests);
    }
  }
  CompareMeanImage(name, sample, expected["mean_image"], images, tests);
}

// Holm's correction compares the i-th smallest of m p-values with level / (m - i).
void ExpectAll(Tests tests) {
  std::sort(tests.begin(), tests.end(), [](auto& a, auto& b) { return a.second < b.second; });
  std::cout << tests.size()
            << " tests; the first fails below p = " << kLevel / static_cast<double>(tests.size())
            << ". Smallest:\n";
  for (size_t i = 0; i < tests.size(); ++i) {
    EXPECT_GT(tests[i].second, kLevel / static_cast<double>(tests.size() - i)) << tests[i].first;
    if (i < 8) std::cout << "  " << tests[i].first << ": p = " << tests[i].second << "\n";
  }
}

TEST(PathfinderStatisticsTest, ImagesOf32PixelsAreLikeTheOriginals) {
  Tests tests;
  CompareWithSummary("32_easy", Generate(32, PathfinderOptions::EASY, 5000), &tests);
  CompareWithSummary("32_intermediate", Generate(32, PathfinderOptions::INTERMEDIATE, 5000),
                     &tests);
  CompareWithSummary("32_hard", Generate(32, PathfinderOptions::HARD, 5000), &tests);
  EXPECT_EQ(tests.size(), 3u * (1 + 22 * 10 + 1));
  ExpectAll(std::move(tests));
}

TEST(PathfinderStatisticsTest, LargerImagesAreLikeTheOriginals) {
  Tests tests;
  CompareWithSummary("64_hard", Generate(64, PathfinderOptions::HARD, 600), &tests);
  CompareWithSummary("128_hard", Generate(128, PathfinderOptions::HARD, 600), &tests);
  ExpectAll(std::move(tests));
}

// --- Real images ---

// Reads all bytes of the current entry.
absl::StatusOr<std::string> ReadEntry(RawSource* source) {
  std::string bytes;
  char buffer[4096];
  while (true) {
    LRA_ASSIGN_OR_RETURN(const size_t read, source->Read(buffer, sizeof(buffer)));
    if (read == 0) return bytes;
    bytes.append(buffer, read);
  }
}

// Reads the images of each folder of pathfinder32/.
absl::StatusOr<std::map<std::string, Sample>> ReadRelease(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<RawSource> source, OpenRawSource(path));
  std::map<std::string, Sample> folders;
  while (true) {
    LRA_ASSIGN_OR_RETURN(const std::optional<RawEntry> entry, source->Next());
    if (!entry.has_value()) return folders;
    const size_t start = entry->name.find("/pathfinder32/");
    if (start == std::string::npos || !absl::EndsWith(entry->name, ".png")) continue;
    LRA_ASSIGN_OR_RETURN(const std::string bytes, ReadEntry(source.get()));
    if (bytes.empty()) continue;  // the release has one empty file
    const std::vector<std::string> parts = absl::StrSplit(entry->name.substr(start), '/');
    Sample& sample = folders[parts[2]];
    sample.images.push_back(*DecodeGreyPng(bytes, 32));
    AppendImageStatistics(sample.images.back(), 32, &sample.columns);
  }
}

// The number of pixels of each image that have this value.
std::vector<double> Count(const Sample& sample, int value) {
  std::vector<double> counts;
  for (const std::vector<uint8_t>& image : sample.images) {
    counts.push_back(static_cast<double>(std::count(image.begin(), image.end(), value)));
  }
  return counts;
}

// The least p-value of all 256 grey values times their number, for those that occur often enough
// for a normal approximation. Only this test notices a byte that is rounded the wrong way.
double GreyValueTest(const Sample& a, const Sample& b) {
  double least = 1;
  int compared = 0;
  for (int value = 0; value < 256; ++value) {
    const std::vector<double> in_a = Count(a, value), in_b = Count(b, value);
    const auto is_seen = [](double count) { return count > 0; };
    if (std::count_if(in_a.begin(), in_a.end(), is_seen) +
            std::count_if(in_b.begin(), in_b.end(), is_seen) <
        100) {
      continue;
    }
    least = std::min(least, MeanTest(MomentsOf(in_a), MomentsOf(in_b)));
    ++compared;
  }
  return std::min(1.0, least * compared);
}

TEST(PathfinderStatisticsTest, ImagesAreLikeThoseOfTheArchive) {
  const char* const data = std::getenv("LRA_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "LRA_TEST_DATA is not set";
  const auto folders = ReadRelease(absl::StrCat(data, "/lra_release-sample.gz"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  Tests tests;
  for (const auto& [folder, difficulty] :
       {std::pair{"curv_baseline", PathfinderOptions::EASY},
        std::pair{"curv_contour_length_9", PathfinderOptions::INTERMEDIATE},
        std::pair{"curv_contour_length_14", PathfinderOptions::HARD}}) {
    ASSERT_EQ(folders->count(folder), 1u) << folder;
    const Sample& real = folders->at(folder);
    const Sample sample = Generate(32, difficulty, 5000);
    for (const auto& [statistic, values] : real.columns) {
      tests.emplace_back(absl::StrCat(folder, ": ", statistic, ", Kolmogorov-Smirnov"),
                         KolmogorovSmirnov(sample.columns.at(statistic), values));
    }
    tests.emplace_back(absl::StrCat(folder, ": grey values"), GreyValueTest(sample, real));
  }
  EXPECT_EQ(tests.size(), 24u);
  ExpectAll(std::move(tests));
}

}  // namespace
}  // namespace lra::pathfinder
