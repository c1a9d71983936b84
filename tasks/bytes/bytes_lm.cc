// Texts byte by byte, each byte guessed from the earlier ones: the reviews of IMDB (Maas et al.
// 2011) or any folder of texts. Stands in for the language models of the cosFormer and Cottention
// papers, whose corpora are of words and larger; bits a byte compare attentions, and are no cell of
// their tables.
//
//   source: a piece of a text     label: none
//   sizes:  of the source; of IMDB's labelled reviews about 45,000 / 44,000 pieces
//   raw:    aclImdb_v1.tar.gz of https://ai.stanford.edu/~amaas/data/sentiment/, or files *.txt,
//           in train/ and test/ or in neither
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/bytes/bytes.pb.h"
#include "tasks/bytes/text_files.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"

namespace lra {
namespace {

class BytesLm : public Task {
 public:
  explicit BytesLm(BytesOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("bytes_lm");
    spec.set_version(1);
    spec.set_content(TaskSpec::TEXT);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(options_.piece_bytes());
    spec.set_classes(1);  // there is no label
    spec.set_metric_name("bits_per_token");
    return spec;
  }

  std::vector<SplitSize> Splits() const override { return {{"train", 0}, {"test", 0}}; }

  std::string RawDescription() const override {
    return "aclImdb_v1.tar.gz, or a folder or archive with texts train/…/NAME.txt and "
           "test/…/NAME.txt, or with texts …/NAME.txt of which a tenth becomes the test split";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return bytes::MakeTextFilesReader(std::move(source), options_);
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    return ExampleOfBytes(raw);
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    return BytesOfExample(example);
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    std::vector<int64_t> pieces = {24, 12};
    for (uint32_t split = 0; split < pieces.size(); ++split) {
      RandomStream random(seed, RandomDomain::kSample, {split, 0, 0});
      for (int64_t i = 0; i < pieces[split]; i += 3) {
        std::string text;  // two pieces and a half
        while (text.size() < size_t{5} * options_.piece_bytes() / 2)
          text.push_back(static_cast<char>(random.Below(256)));
        LRA_RETURN_IF_ERROR(WriteSampleFile(
            folder, absl::StrCat("texts/", split == 0 ? "train/" : "test/", i % 2, "/", i, ".txt"),
            text));
      }
    }
    return pieces;
  }

  std::string ToText(const StoredExample& example) const override {
    return BytesText(example.tokens);
  }

 private:
  const BytesOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> MakeBytesLm(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(BytesOptions options,
                       UnpackOptions<BytesOptions>("task", "bytes_lm", packed));
  return std::make_unique<BytesLm>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "bytes_lm", MakeBytesLm);

}  // namespace
}  // namespace lra
