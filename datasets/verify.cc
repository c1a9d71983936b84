#include "datasets/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/example.h"
#include "datasets/leakage.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "lra/check.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

constexpr int64_t kBatchExamples = 512;
constexpr int64_t kWrongLabelsNamed = 20;

struct Slice {
  const internal::MappedSplit* split = nullptr;
  int64_t begin = 0, end = 0;
};

struct SliceResult {
  int64_t examples = 0, ambiguous = 0;
  std::vector<ExampleDigest> digests;
  std::vector<std::string> wrong_labels;
};

// Evaluates one label with the oracle; counts it, or reports what is wrong.
void ExamineLabel(const internal::MappedSplit& split, int64_t i, const StoredExample& example,
                  const LabelOracle& oracle, SliceResult* result) {
  const int32_t label = split.label(i);
  const absl::StatusOr<std::optional<int32_t>> expected = oracle(example);
  if (expected.ok() && !expected->has_value()) ++result->ambiguous;
  if (expected.ok() && expected->value_or(label) == label) return;
  result->wrong_labels.push_back(absl::StrCat(
      "split ", split.name, ", example ", i, ": its label is ", label,
      expected.ok() ? absl::StrCat("; evaluated anew it is ", **expected)
                    : absl::StrCat("; it cannot be evaluated: ", expected.status().message())));
}

// Reads one slice of a split: computes digests and checks labels with the oracle.
SliceResult Examine(const Slice& slice, const LabelOracle& oracle, int64_t prompt_place) {
  SliceResult result;
  result.examples = slice.end - slice.begin;
  ExampleHasher hasher(prompt_place);
  const size_t columns = slice.split->shards.front().columns.size();
  std::vector<uint16_t> scratch[2];
  absl::Span<const uint16_t> rows[2];
  for (int64_t i = slice.begin; i < slice.end; ++i) {
    for (size_t c = 0; c < columns; ++c) {
      rows[c] = slice.split->Tokens(i, &scratch[c], static_cast<int>(c));
    }
    const std::vector<int16_t> extra = slice.split->Extra(i);
    result.digests.push_back(
        hasher.Hash(absl::MakeConstSpan(rows, columns), slice.split->label(i), extra));
    if (oracle) ExamineLabel(*slice.split, i, {rows[0], rows[1], extra}, oracle, &result);
  }
  return result;
}

// Puts the results of the slices of a split together in order.
class SplitCheck {
 public:
  explicit SplitCheck(bool is_pair) : keys_(is_pair) {}

  void Add(SliceResult result) {
    for (const ExampleDigest& digest : result.digests) {
      fingerprint_.Update(digest.example.data(), digest.example.size());
      keys_.Add(digest);
    }
    ambiguous_ += result.ambiguous;
    for (std::string& problem : result.wrong_labels) {
      if (++wrong_labels_ <= kWrongLabelsNamed) named_.push_back(std::move(problem));
    }
  }

  void Finish(const ManifestSplit& claimed, const internal::MappedSplit& split, bool has_oracle,
              std::vector<std::string>* problems) {
    const std::string fingerprint = ToHex(fingerprint_.Finish());
    if (fingerprint != claimed.content_fingerprint()) {
      problems->push_back(absl::StrCat("split ", split.name, ": its content fingerprint is ",
                                       fingerprint, ", the manifest says ",
                                       claimed.content_fingerprint()));
    }
    CheckCounts(claimed, split, problems);
    if (has_oracle && ambiguous_ != claimed.ambiguous_examples()) {
      problems->push_back(absl::StrCat("split ", split.name, " has ", ambiguous_,
                                       " ambiguous examples, the manifest says ",
                                       claimed.ambiguous_examples()));
    }
    problems->insert(problems->end(), named_.begin(), named_.end());
    if (wrong_labels_ > kWrongLabelsNamed) {
      problems->push_back(
          absl::StrCat("split ", split.name, ": ", wrong_labels_, " labels are wrong in all"));
    }
  }

  SplitKeys TakeKeys() { return std::move(keys_); }

 private:
  static void CheckCounts(const ManifestSplit& claimed, const internal::MappedSplit& split,
                          std::vector<std::string>* problems) {
    int64_t tokens = 0;
    std::vector<int64_t> labels(claimed.label_count_size(), 0);
    for (const internal::MappedShard& shard : split.shards) {
      for (const auto& column : shard.columns) tokens += column.tokens.header().values;
      for (int32_t label : shard.labels.values<int32_t>()) ++labels[label];
    }
    if (tokens != claimed.tokens()) {
      problems->push_back(absl::StrCat("split ", split.name, " has ", tokens,
                                       " tokens, the manifest says ", claimed.tokens()));
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == claimed.label_count(static_cast<int>(i))) continue;
      problems->push_back(absl::StrCat("split ", split.name, " has ", labels[i],
                                       " examples of label ", i, ", the manifest says ",
                                       claimed.label_count(static_cast<int>(i))));
    }
  }

  Sha256 fingerprint_;
  SplitKeys keys_;
  int64_t ambiguous_ = 0, wrong_labels_ = 0;
  std::vector<std::string> named_;
};

template <class Entries>
std::vector<std::string> Texts(const Entries& entries) {
  std::vector<std::string> texts;
  for (const auto& entry : entries) texts.push_back(ToTextProto(entry));
  return texts;
}

void CheckLeakage(const Manifest& manifest, std::vector<SplitKeys> keys, ContentReport* report) {
  Manifest counted = manifest;
  CountLeakage(std::move(keys), &counted);
  report->duplicates.assign(counted.duplicates().begin(), counted.duplicates().end());
  report->shared_documents.assign(counted.shared_documents().begin(),
                                  counted.shared_documents().end());
  for (int i = 0; i < manifest.duplicates_size() && i < counted.duplicates_size(); ++i) {
    if (!manifest.duplicates(i).has_with_other_label())
      counted.mutable_duplicates(i)->clear_with_other_label();
  }
  // Other writers need not count duplicates.
  if (manifest.duplicates_size() > 0 &&
      Texts(manifest.duplicates()) != Texts(counted.duplicates())) {
    report->problems.push_back("the manifest's duplicate counts are not those of its data");
  }
  if (manifest.shared_documents_size() > 0 &&
      Texts(manifest.shared_documents()) != Texts(counted.shared_documents())) {
    report->problems.push_back("the manifest's shared_documents are not those of its data");
  }
}

}  // namespace

ContentReport VerifyContent(const Dataset& data, const LabelOracle& oracle, int threads,
                            const std::function<void(int64_t)>& progress) {
  ContentReport report;
  std::vector<SplitKeys> keys;
  const int64_t prompt_place = PromptPlace(data.manifest().extra_columns());
  int64_t done = 0;
  for (const ManifestSplit& claimed : data.manifest().splits()) {
    const internal::MappedSplit* split = data.split(claimed.name());
    LRA_CHECK(split != nullptr) << claimed.name();
    SplitCheck check(data.spec().is_pair());
    int64_t next = 0;
    const absl::Status status = OrderedPipeline<Slice, SliceResult>(
        ResolveThreads(threads),
        [&]() -> absl::StatusOr<std::optional<Slice>> {
          if (next == split->examples) return std::nullopt;
          const int64_t begin =
              std::exchange(next, std::min(next + kBatchExamples, split->examples));
          return Slice{split, begin, next};
        },
        [&](Slice slice) -> absl::StatusOr<SliceResult> {
          return Examine(slice, oracle, prompt_place);
        },
        [&](SliceResult result) {
          done += result.examples;
          check.Add(std::move(result));
          if (progress) progress(done);
          return absl::OkStatus();
        });
    LRA_CHECK(status.ok()) << status.ToString();
    check.Finish(claimed, *split, oracle != nullptr, &report.problems);
    keys.push_back(check.TakeKeys());
  }
  if (oracle) report.labels_checked = done;
  CheckLeakage(data.manifest(), std::move(keys), &report);
  return report;
}

}  // namespace lra
