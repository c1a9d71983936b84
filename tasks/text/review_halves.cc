// Do two texts come from one review? A task in the form of document retrieval, from the reviews of
// the Text task (IMDB, Maas et al. 2011). It is this project's own and no column of the Long-Range
// Arena.
//
//   source: the first and the last words of a review (1), or of two reviews (0)
//   sizes:  two texts of at most 512 bytes; about 16,000 / 2,000 / 2,000 reviews, each in two pairs
//   raw:    aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment/
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/linear_baseline.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"
#include "tasks/text/half_pairs.h"
#include "tasks/text/review_halves.pb.h"

namespace lra {
namespace {

std::vector<uint16_t> Tokens(absl::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  return {bytes, bytes + text.size()};
}

// A made-up review of at least so many bytes, its layout not counted.
std::string SampleWords(int64_t bytes, RandomStream* random) {
  constexpr absl::string_view kBreaks[] = {" ", " ", " ", "<br /><br />", "  "};
  std::string review = "caf\xc3\xa9";
  for (int64_t counted = 0; counted < bytes;) {
    absl::StrAppend(&review, kBreaks[random->Below(std::size(kBreaks))]);
    const int64_t letters = random->Between(1, 9);
    for (int64_t i = 0; i < letters; ++i) review += static_cast<char>('a' + random->Below(26));
    counted += letters + 1;
  }
  return review;
}

class ReviewHalves : public Task {
 public:
  explicit ReviewHalves(ReviewHalvesOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("review_halves");
    spec.set_version(1);
    spec.set_content(TaskSpec::TEXT);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(options_.text_bytes());
    spec.set_classes(2);
    spec.set_is_pair(true);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", 0}, {"validation", 0}, {"test", 0}};
  }

  std::string RawDescription() const override {
    return "aclImdb_v1.tar.gz, or the folder that it unpacks to";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return text::MakeHalfPairReader(std::move(source), options_);
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    LRA_ASSIGN_OR_RETURN(const text::Halves halves, text::SplitPair(raw.bytes));
    EncodedExample example;
    example.tokens = Tokens(halves.first);
    example.tokens_b = Tokens(halves.last);
    example.label = raw.label;
    return example;
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    RawExample raw;
    raw.bytes = text::JoinPair(std::string(example.tokens.begin(), example.tokens.end()),
                               std::string(example.tokens_b.begin(), example.tokens_b.end()));
    raw.label = example.label;
    return raw;
  }

  // Two films of each split and folder, with two reviews each. Every review makes two pairs.
  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    const int64_t bytes = 2 * int64_t{options_.text_bytes()} + options_.gap_bytes();
    std::vector<int64_t> pairs(3);
    uint32_t film = 0;
    for (uint32_t list = 0; list < 4; ++list) {
      const std::string above = list < 2 ? "aclImdb/train" : "aclImdb/test";
      const std::string name = list % 2 == 0 ? "neg" : "pos";
      std::string addresses;
      int reviews = 0;
      for (std::array<int, 3> films{2, 2, 2}; films != std::array<int, 3>{}; ++film) {
        const int split = text::SplitOfFilm(absl::StrCat("tt", film), options_.seed());
        if (films[split] == 0) continue;
        --films[split];
        for (int i = 0; i < 2; ++i, ++reviews) {
          absl::StrAppend(&addresses, "http://www.imdb.com/title/tt", film, "/usercomments\n");
          RandomStream random(seed, RandomDomain::kSample, {list, uint32_t(reviews), 0});
          LRA_RETURN_IF_ERROR(WriteSampleFile(
              folder,
              absl::StrCat(above, "/", name, "/", reviews, list % 2 == 0 ? "_2" : "_9", ".txt"),
              SampleWords(bytes, &random)));
          pairs[split] += 2;
        }
      }
      LRA_RETURN_IF_ERROR(
          WriteSampleFile(folder, absl::StrCat(above, "/urls_", name, ".txt"), addresses));
    }
    return pairs;
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrCat(BytesText(example.tokens), "\n  ", BytesText(example.tokens_b));
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return TextBaselines(/*is_pair=*/true);
  }

 private:
  const ReviewHalvesOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> MakeReviewHalves(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(ReviewHalvesOptions options,
                       UnpackOptions<ReviewHalvesOptions>("task", "review_halves", packed));
  return std::make_unique<ReviewHalves>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "review_halves", MakeReviewHalves);

}  // namespace
}  // namespace lra
