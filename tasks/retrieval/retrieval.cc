// Document retrieval on the ACL Anthology Network (Radev et al. 2013), byte by byte, as in the
// Long-Range Arena (Tay et al. 2021): does one paper cite the other? Each text is encoded alone; no
// model sees both at once.
//
//   source: two texts, mostly Python byte literals b'...' (the view decodes them)     label: 0 or 1
//   sizes:  147,086 / 18,090 / 17,437 pairs; the first 10,000 raw bytes of each text
//   raw:    new_aan_pairs.{train,eval,test}.tsv of lra_release.gz
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/line_reader.h"
#include "tasks/linear_baseline.h"
#include "tasks/raw_files.h"
#include "tasks/retrieval/pair_line.h"
#include "tasks/retrieval/retrieval.pb.h"
#include "tasks/task.h"

namespace lra {
namespace {

constexpr const char* kFiles[] = {"new_aan_pairs.train.tsv", "new_aan_pairs.eval.tsv",
                                  "new_aan_pairs.test.tsv"};

std::vector<uint16_t> Cut(absl::string_view text, size_t max_bytes) {
  const absl::string_view head = text.substr(0, max_bytes);
  const auto* bytes = reinterpret_cast<const uint8_t*>(head.data());
  return {bytes, bytes + head.size()};
}

// A made-up document: a byte literal or plain text.
std::string SampleDocument(RandomStream* random) {
  constexpr absl::string_view kWords[] = {"parsing",     "of",  "the",           "corpus",
                                          "tokens",      "\\n", "caf\\xc3\\xa9", "it\\'s",
                                          "translation", "1998"};
  std::string text;
  for (int64_t words = random->Between(20, 400); words > 0; --words) {
    absl::StrAppend(&text, kWords[random->Below(std::size(kWords))], " ");
  }
  return random->Below(4) == 0 ? text : absl::StrCat("b'", text, "'");
}

class Retrieval : public Task {
 public:
  explicit Retrieval(RetrievalOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("retrieval");
    spec.set_version(1);
    spec.set_content(TaskSpec::TEXT);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(options_.max_document_bytes());
    spec.set_classes(2);
    spec.set_is_pair(true);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override {
    return {{"train", 0}, {"validation", 0}, {"test", 0}};
  }

  std::string RawDescription() const override {
    return absl::StrCat("lra_release.gz, or a folder or archive with ", kFiles[0], ", ", kFiles[1],
                        " and ", kFiles[2]);
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return MakeLineReader(std::move(source),
                          {.names = {kFiles[0], kFiles[1], kFiles[2]}, .header = ""});
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    LRA_ASSIGN_OR_RETURN(const retrieval::PairLine line, retrieval::ParsePairLine(raw.bytes));
    EncodedExample example;
    example.tokens = Cut(line.text1, options_.max_document_bytes());
    example.tokens_b = Cut(line.text2, options_.max_document_bytes());
    example.label = line.label;
    return example;
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    RawExample raw;
    raw.bytes = absl::StrCat(example.label, ".0\tA00-1000\tB00-1000\t",
                             std::string(example.tokens.begin(), example.tokens.end()), "\t",
                             std::string(example.tokens_b.begin(), example.tokens_b.end()));
    return raw;
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    const std::vector<int64_t> examples = {12, 6, 6};
    for (uint32_t split = 0; split < examples.size(); ++split) {
      RandomStream random(seed, RandomDomain::kSample, {split, 0, 0});
      std::string text;
      for (int64_t i = 0; i < examples[split]; ++i) {
        absl::StrAppend(&text, i % 2, ".0\tA00-", 1000 + i, "\tB00-", 1000 + i, "\t",
                        SampleDocument(&random), "\t", SampleDocument(&random), "\n");
      }
      LRA_RETURN_IF_ERROR(WriteSampleFile(folder, absl::StrCat("tsv_data/", kFiles[split]), text));
    }
    return examples;
  }

  std::string ToText(const StoredExample& example) const override {
    return absl::StrCat(BytesText(example.tokens), "\n  ", BytesText(example.tokens_b));
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    std::vector<std::unique_ptr<BaselineMethod>> baselines;
    baselines.push_back(MakeBagOfUnits());
    baselines.push_back(MakeNgramLinear(/*is_quick=*/false));
    baselines.push_back(MakeOverlap(/*is_quick=*/false));
    return baselines;
  }

 private:
  const RetrievalOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> MakeRetrieval(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(RetrievalOptions options,
                       UnpackOptions<RetrievalOptions>("task", "retrieval", packed));
  return std::make_unique<Retrieval>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "retrieval", MakeRetrieval);

}  // namespace
}  // namespace lra
