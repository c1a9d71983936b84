// Sentiment of film reviews (IMDB, Maas et al. 2011) read byte by byte, as in the Long-Range Arena
// (Tay et al. 2021). Whole reviews are stored; the view decides about length, unit and split.
//
//   source: the bytes of a review     label: 0 against the film, 1 for it
//   sizes:  25,000 / 25,000; the view cuts validation from train, or takes the test split
//   raw:    aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment/
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/linear_baseline.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"
#include "tasks/text/review_reader.h"
#include "tasks/text/text.pb.h"

namespace lra {
namespace {

// A made-up review; its length and words vary, and some bytes are not ASCII.
std::string SampleReview(int32_t label, RandomStream* random) {
  constexpr absl::string_view kWords[] = {"film", "the",   "caf\xc3\xa9", "actor", "<br />",
                                          "plot", "scene", "\"quote\"",   "and",   "was"};
  std::string review = label == 1 ? "good " : "bad ";
  for (int64_t words = random->Between(10, 600); words > 0; --words) {
    absl::StrAppend(&review, kWords[random->Below(std::size(kWords))], " ");
  }
  return review;
}

class TextTask : public Task {
 public:
  explicit TextTask(TextOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("text");
    spec.set_version(1);
    spec.set_content(TaskSpec::TEXT);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(options_.max_review_bytes());
    spec.set_classes(2);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override { return {{"train", 0}, {"test", 0}}; }

  std::string RawDescription() const override {
    return "aclImdb_v1.tar.gz, the folder that it unpacks to, or a folder or archive with "
           "two-column tables train.csv and test.csv (or .tsv, without quoting)";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return text::MakeReviewReader(std::move(source), options_.max_review_bytes());
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    return ExampleOfBytes(raw);
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    return BytesOfExample(example);
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    const std::vector<int64_t> examples = {24, 12};
    for (uint32_t split = 0; split < examples.size(); ++split) {
      RandomStream random(seed, RandomDomain::kSample, {split, 0, 0});
      for (int64_t i = 0; i < examples[split]; ++i) {
        const int32_t label = static_cast<int32_t>(i % 2);
        LRA_RETURN_IF_ERROR(WriteSampleFile(
            folder,
            absl::StrCat("aclImdb/", split == 0 ? "train/" : "test/", label == 0 ? "neg/" : "pos/",
                         i / 2, "_", label == 0 ? 2 : 9, ".txt"),
            SampleReview(label, &random)));
      }
    }
    return examples;
  }

  std::string ToText(const StoredExample& example) const override {
    return BytesText(example.tokens);
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return TextBaselines(/*is_pair=*/false);
  }

 private:
  const TextOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> MakeText(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(TextOptions options, UnpackOptions<TextOptions>("task", "text", packed));
  return std::make_unique<TextTask>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "text", MakeText);

}  // namespace
}  // namespace lra
