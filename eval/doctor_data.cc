#include "eval/doctor_data.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/leakage.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

std::vector<int64_t> CountLabels(const SplitView& split) {
  std::vector<int64_t> counts(split.spec().classes());
  for (int64_t i = 0; i < split.size(); ++i) ++counts[split.label(i)];
  return counts;
}

// How often each id is asked for.
std::vector<int64_t> CountTokens(const SplitView& split) {
  std::vector<int64_t> counts(split.spec().classes());
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < split.size(); ++i) {
    split.Read(i, &ids);
    for (size_t n = split.prompt_tokens(i); n < ids.size(); ++n) ++counts[ids[n]];
  }
  return counts;
}

int64_t LookedAt(const SplitView& split) { return std::min(split.size(), kExamplesLookedAt); }

// Measures lengths, zeros and brackets of the training split.
void MeasureInputs(const Dataset& data, const SplitView& train, DataFacts* facts) {
  const internal::MappedSplit& stored = *data.split(train.stored_split());
  const int32_t bracket = data.spec().close_bracket_id();
  const int64_t examples = LookedAt(train);
  int64_t tokens = 0, stored_tokens = 0, zeros = 0, with_bracket = 0;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < examples; ++i) {
    stored_tokens += stored.length_tokens(train.stored_index(i));
    tokens += train.length_tokens(i);
    if (train.spec().is_real()) continue;
    train.Read(i, &ids);
    zeros += std::count(ids.begin(), ids.end(), 0);
    with_bracket += std::find(ids.begin(), ids.end(), bracket) != ids.end();
  }
  facts->tokens_per_example = static_cast<double>(tokens) / static_cast<double>(examples);
  facts->stored_tokens_per_example =
      static_cast<double>(stored_tokens) / static_cast<double>(examples);
  facts->zero_share = static_cast<double>(zeros) / static_cast<double>(tokens);
  if (bracket != 0) {
    facts->bracket_share = static_cast<double>(with_bracket) / static_cast<double>(examples);
  }
}

// An example that the oracle cannot evaluate has a wrong label: it is counted as one of the next
// class.
std::vector<int64_t> TableOfLabels(const Dataset& data, const SplitView& train,
                                   const LabelOracle& oracle) {
  const internal::MappedSplit& stored = *data.split(train.stored_split());
  const int64_t classes = data.spec().classes();
  std::vector<int64_t> table(classes * classes);
  std::vector<uint16_t> scratch, scratch_b;
  for (int64_t i = 0; i < LookedAt(train); ++i) {
    const int64_t index = train.stored_index(i);
    const std::vector<int16_t> extra = stored.Extra(index);
    StoredExample example{stored.Tokens(index, &scratch), {}, extra};
    if (data.spec().is_pair()) example.tokens_b = stored.Tokens(index, &scratch_b, 1);
    const int64_t label = stored.label(index);
    const absl::StatusOr<std::optional<int32_t>> truth = oracle(example);
    const int64_t value = truth.ok()
                              ? static_cast<int64_t>(truth->value_or(static_cast<int32_t>(label)))
                              : (label + 1) % classes;
    ++table[label * classes + value];
  }
  return table;
}

// The accuracy on validation if each value of the shortcut is answered with its commonest training
// label.
double ScoreShortcut(const SplitView& train, const SplitView& validation,
                     const TaskKnowledge& knowledge) {
  const int64_t classes = train.spec().classes();
  std::vector<int64_t> counts(knowledge.shortcut_values * classes);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < LookedAt(train); ++i) {
    train.Read(i, &ids);
    ++counts[knowledge.shortcut(ids) * classes + train.label(i)];
  }
  int64_t correct = 0;
  for (int64_t i = 0; i < LookedAt(validation); ++i) {
    validation.Read(i, &ids);
    const auto row = counts.begin() + knowledge.shortcut(ids) * classes;
    correct += std::max_element(row, row + classes) - row == validation.label(i);
  }
  return static_cast<double>(correct) / static_cast<double>(LookedAt(validation));
}

// Keys of the inputs of `split`, as they are stored.
SplitKeys KeysOf(const Dataset& data, const SplitView& split) {
  const internal::MappedSplit& stored = *data.split(split.stored_split());
  SplitKeys keys(data.spec().is_pair());
  ExampleHasher hasher;
  for (int64_t i = 0; i < split.size(); ++i) {
    keys.Add(hasher.Hash(data.spec(), stored.Read(split.stored_index(i))));
  }
  return keys;
}

// If a view validates on the test split, CheckSplits reports it; it is not leakage.
void CountLeaked(const Dataset& data, const std::vector<const SplitView*>& splits,
                 DataFacts* facts) {
  Manifest manifest;
  std::vector<SplitKeys> keys;
  for (const SplitView* split : splits) {
    manifest.add_splits()->set_name(split->name());
    keys.push_back(KeysOf(data, *split));
    if (split != splits.front()) facts->held_out_examples += split->size();
  }
  CountLeakage(std::move(keys), &manifest);
  for (const DuplicateExamples& duplicates : manifest.duplicates()) {
    if (duplicates.earlier_split() != "train" || duplicates.split() == "train") continue;
    facts->leaked_examples += duplicates.count();
  }
}

bool IsSameData(const DataIdentity& a, const DataIdentity& b) {
  if (a.split_fingerprint_size() != b.split_fingerprint_size()) return false;
  for (const auto& [split, fingerprint] : a.split_fingerprint()) {
    const auto other = b.split_fingerprint().find(split);
    if (other == b.split_fingerprint().end() || other->second != fingerprint) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<DataFacts> LookAtData(const std::string& directory, const RunRecord& run,
                                     const KnowledgeOf& knowledge_of, int threads) {
  const DataView& view = run.config().view();
  LRA_ASSIGN_OR_RETURN(const Dataset data,
                       Dataset::Open(directory, {.splits = {"train", "validation", "test"},
                                                 .view = &view,
                                                 .threads = threads}));
  if (data.spec().name() != run.spec().name()) {
    return absl::InvalidArgumentError(absl::StrCat(directory, " holds task \"", data.spec().name(),
                                                   "\", the run is about \"", run.spec().name(),
                                                   "\""));
  }
  LRA_ASSIGN_OR_RETURN(const SplitView train, SplitView::Create(data, "train", view));
  LRA_ASSIGN_OR_RETURN(const SplitView validation, SplitView::Create(data, "validation", view));
  LRA_ASSIGN_OR_RETURN(const SplitView test, SplitView::Create(data, "test", view));
  LRA_ASSIGN_OR_RETURN(const TaskKnowledge knowledge, knowledge_of(data.manifest()));
  DataFacts facts;
  const DataIdentity identity = IdentifyData(data.manifest(), view);
  facts.is_same = IsSameData(identity, run.data());
  facts.is_canonical = identity.is_canonical();
  facts.has_canonical = HasPinnedData(data.spec().name());
  facts.validation_examples = validation.size();
  MeasureInputs(data, train, &facts);
  if (train.spec().guesses_tokens()) {
    facts.train_labels = CountTokens(train);
  } else {
    facts.train_labels = CountLabels(train);
    if (knowledge.oracle) facts.label_table = TableOfLabels(data, train, knowledge.oracle);
    if (knowledge.shortcut) facts.shortcut_accuracy = ScoreShortcut(train, validation, knowledge);
  }
  CountLeaked(data, {&train, &validation, &test}, &facts);
  return facts;
}

}  // namespace lra
