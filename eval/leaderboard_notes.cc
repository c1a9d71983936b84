// The sentences under a table: how its rows were obtained.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/baseline_record.h"
#include "eval/data_identity.h"
#include "eval/difference_text.h"
#include "eval/leaderboard_internal.h"
#include "lra/progress.h"

namespace lra::internal {
namespace {

// Ends the commit of a build from changed sources (`git describe --dirty`).
constexpr absl::string_view kDirty = "-dirty";

std::string DescribeData(const ColumnRuns& column, const LeaderboardOptions& options) {
  const Entry* const scored = column.first_scored();
  const DataIdentity& data = column.entries.front().record().data();
  const auto fingerprint = data.split_fingerprint().find(options.split);
  return absl::StrCat(
      column.task, ": ", data.origin().empty() ? "unknown origin" : data.origin(), " data, ",
      CanonicalText(data), ", version ", data.task_version(), "; ",
      scored == nullptr ? "" : absl::StrCat(FormatCount(scored->result->examples()), " "),
      options.split, " examples (fingerprint ",
      fingerprint == data.split_fingerprint().end() ? "unknown" : fingerprint->second.substr(0, 12),
      ").");
}

// Says what counts as one example where neighbours depend on each other; empty where none do, and
// where intervals are about seeds alone.
std::string DescribeBlocks(const ColumnRuns& column) {
  const Entry* const scored = column.first_scored();
  const bool is_of_examples =
      column.metric().traits().is_proportion ||
      std::any_of(column.entries.begin(), column.entries.end(),
                  [](const Entry& entry) { return entry.examples != nullptr; });
  if (scored == nullptr || column.block_examples == 1 || !is_of_examples) return "";
  const int64_t examples = scored->result->examples();
  const std::string blocks = BlocksText(examples, column.block_examples);
  return absl::StrCat(
      column.task, ": neighbouring examples depend on each other; ",
      blocks.empty() ? absl::StrCat("they are too few for two blocks of ", column.block_examples,
                                    ", and intervals, which take each by itself, are too narrow.")
                     : absl::StrCat("intervals and p are of ", blocks,
                                    CountBlocks(examples, column.block_examples) < 10
                                        ? ", so few that hardly anything can be told."
                                        : ", or of single examples where these scatter by more."));
}

std::string DescribeUnscored(const ColumnRuns& column) {
  if (column.first_scored() == nullptr) return "";
  const int64_t scored = column.first_scored()->result->examples();
  int64_t most = scored;
  for (const Entry& entry : column.entries) {
    if (entry.result != nullptr) most = std::max(most, entry.result->examples());
  }
  if (most == scored) return "";
  return absl::StrCat(
      column.task, ": the protocol leaves the last, smaller batch unscored: ", FormatCount(scored),
      " examples here, ", FormatCount(most), " in rows of the whole split.");
}

// "150 steps of 32 examples; the last step was scored". What a protocol says about single methods
// may differ between rows: then each is followed by its methods.
std::string DescribeBudgets(const ColumnRuns& column) {
  std::map<std::string, std::set<std::string>> methods;
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    if (record.kind() != RunRecord::MEASURED) continue;
    const TrainConfig& train = record.config().train();
    methods[absl::StrCat(FormatCount(train.steps()), " steps of ", train.batch_examples(),
                         " examples; ", DescribeSelection(record))]
        .insert(record.method());
  }
  if (methods.size() == 1) return methods.begin()->first;
  return absl::StrJoin(methods, "; ", [](std::string* out, const auto& budget) {
    absl::StrAppend(out, budget.first, " (", absl::StrJoin(budget.second, ", "), ")");
  });
}

// ", preset small changes schedule.learning_rate (0.0005 -> 0.001)": the rules of the protocol that
// the preset replaced and nobody has overridden. Records of before 2026-11 do not say.
std::string DescribePresetChanges(const RunRecord& record) {
  std::vector<std::string> changes;
  for (const ChangedRule& rule : record.changed_rule()) {
    if (!absl::StartsWith(rule.origin(), "preset ")) continue;
    const std::string& before = rule.protocol_value();
    changes.push_back(absl::StrCat(rule.path(), " (", before.empty() ? "(unset)" : before, " -> ",
                                   rule.value(), ")"));
  }
  if (changes.empty()) return "";
  return absl::StrCat(", which changes the protocol's ", absl::StrJoin(changes, ", "));
}

std::string DescribeSettings(const ColumnRuns& column) {
  const RunRecord& record = column.entries.front().record();
  const ExperimentConfig& config = record.config();
  return absl::StrCat(column.task, ": protocol ", config.protocol(), ", preset ", config.preset(),
                      DescribePresetChanges(record), ", ", DescribeOverrides(column), "; ",
                      DescribeBudgets(column), ".");
}

// "123,456 parameters, +3.2 % of the transformer's".
std::string DescribeParameters(const RunRecord& record) {
  const double reference = static_cast<double>(record.transformer_parameters());
  const double percent = 100 * (static_cast<double>(record.parameters()) / reference - 1);
  return absl::StrCat(
      FormatCount(record.parameters()), " parameters",
      reference > 0 ? absl::StrFormat(", %+.1f %% of the transformer's", percent) : "");
}

// The names of a column's rows by the runs in them.
std::map<const LocatedRecord*, std::string> RowNames(const ColumnRuns& column) {
  std::map<const LocatedRecord*, std::string> names;
  for (const auto& [key, runs] : RowsOfColumn(column)) {
    for (const Entry& run : runs) names[run.located] = LabelOf(key);
  }
  return names;
}

// "linear 0, 1, 2 (...); transformer 0 (...)": the runs, with the size of the model.
std::string DescribeRuns(const ColumnRuns& column) {
  std::map<std::string, std::set<uint32_t>> seeds;
  std::map<std::string, std::set<std::string>> sizes;
  const auto names = RowNames(column);
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    if (record.kind() != RunRecord::MEASURED || entry.is_missing) continue;
    const std::string& row = names.at(entry.located);
    seeds[row].insert(record.seed());
    if (record.parameters() > 0) sizes[row].insert(DescribeParameters(record));
  }
  std::vector<std::string> parts;
  for (const auto& [row, values] : seeds) {
    const std::string size = absl::StrJoin(sizes[row], " / ");
    parts.push_back(absl::StrCat(row, " ", absl::StrJoin(values, ", "),
                                 size.empty() ? "" : absl::StrCat(" (", size, ")")));
  }
  return absl::StrCat(column.task, ": seeds ", absl::StrJoin(parts, "; "), ".");
}

// Says what the protocol sets for single methods; empty if nothing.
std::string DescribeMethodRules(const ColumnRuns& column) {
  std::map<std::string, std::string> rules;
  for (const Entry& entry : column.entries) {
    const std::string text = MethodRulesOf(entry.record());
    if (!text.empty()) rules[entry.record().method()] = text;
  }
  if (rules.empty()) return "";
  return absl::StrCat(column.task, ": the rules set for single methods: ",
                      absl::StrJoin(rules, "; ", absl::PairFormatter(" ")), ".");
}

// Says what the methods are. Baselines and external rows bring their own descriptions.
std::vector<std::string> DescribeMethods(const std::vector<ColumnRuns>& columns,
                                         const LeaderboardOptions& options) {
  std::set<std::string> notes;
  for (const ColumnRuns& column : columns) {
    for (const Entry& entry : column.entries) {
      const RunRecord& record = entry.record();
      const auto known = options.descriptions.find(record.method());
      const bool is_measured = record.kind() == RunRecord::MEASURED;
      const std::string text = !is_measured                          ? record.description()
                               : known == options.descriptions.end() ? ""
                                                                     : known->second;
      if (!text.empty()) notes.insert(absl::StrCat(record.method(), ": ", text));
    }
  }
  return {notes.begin(), notes.end()};
}

void AddDamage(const ColumnRuns& column, std::vector<std::string>* notes) {
  const auto names = RowNames(column);
  for (const Entry& entry : column.entries) {
    if (entry.damage.empty()) continue;
    notes->push_back(absl::StrCat(column.task, ": ", names.at(entry.located), ", seed ",
                                  entry.record().seed(), ": ", entry.damage,
                                  "; the score shown is the record's."));
  }
}

// "listops: linear, seed 3, diverged at step 120: ...", and which runs were stopped: what a table
// counts without a score.
void AddFailures(const ColumnRuns& column, std::vector<std::string>* notes) {
  const auto names = RowNames(column);
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    const std::string who =
        absl::StrCat(column.task, ": ", names.at(entry.located), ", seed ", record.seed(), ", ");
    if (entry.is_missing)
      notes->push_back(absl::StrCat(who, "is missing: it was stopped or is still going."));
    if (!entry.is_missing && !entry.has_failed() && !HasTrained(entry, column))
      notes->push_back(absl::StrCat(who, "did not train: it is not above the ",
                                    MereGuessOf(record.spec()), "."));
    if (!entry.has_failed()) continue;
    notes->push_back(absl::StrCat(
        who, record.failure().kind() == RunFailure::DIVERGED ? "diverged" : "failed", " at step ",
        FormatCount(record.failure().step()), ": ", record.failure().cause()));
  }
}

// Names the methods whose intervals rest on less than the score of every example.
std::string DescribeMissingExamples(const ColumnRuns& column) {
  std::set<std::string> methods;
  for (const Entry& entry : column.entries) {
    if (entry.result != nullptr && entry.examples == nullptr)
      methods.insert(entry.record().method());
  }
  if (methods.empty()) return "";
  return absl::StrCat(
      column.task, ": scores of examples are not on record for ", absl::StrJoin(methods, ", "),
      column.metric().traits().is_proportion
          ? "; their intervals and comparisons are the widest that their counts allow."
          : "; what is said of them is about seeds only.");
}

// What is not known without the majority class: whether runs trained, and what failed ones count
// for.
std::string DescribeChance(const ColumnRuns& column) {
  std::set<std::string> failed;
  for (const Entry& entry : column.entries) {
    if (entry.has_failed()) failed.insert(entry.record().method());
  }
  const std::string unjudged = WhyUnjudged(column);
  if ((column.first_scored() == nullptr && failed.empty()) || unjudged.empty()) return "";
  const std::string unranked =
      failed.empty()
          ? ""
          : absl::StrCat("; nor is it known what a failed run counts for, so rows with some (",
                         absl::StrJoin(failed, ", "),
                         ") stand behind the others and have no average");
  return absl::StrCat(column.task, ": ", unjudged, unranked, ".");
}

// Why scores at guessing are no failures here; empty where they are.
std::string DescribeUnjudged(const ColumnRuns& column) {
  if (column.first_scored() == nullptr) return "";
  if (!column.metric().traits().tells_training) {
    return absl::StrCat(column.task, ": ", column.metric().name(),
                        " does not tell which runs trained, since one may learn much and get no "
                        "sequence right as a whole; so every scored run counts as trained.");
  }
  if (!WhyUnjudged(column).empty()) return "";  // DescribeChance() says it
  std::set<std::string> methods;
  for (const Entry& entry : column.entries) {
    if (entry.result != nullptr && entry.record().kind() != RunRecord::BASELINE &&
        !IsAboveMajority(entry, column))
      methods.insert(entry.record().method());
  }
  if (methods.empty()) return "";
  return absl::StrCat(column.task, ": whether runs of ", absl::StrJoin(methods, ", "),
                      " trained cannot be told without scores of examples, so they count as "
                      "trained.");
}

// A protocol looks at the test split once. A note tells of each run that looked more often.
void AddTestLooks(const ColumnRuns& column, std::vector<std::string>* notes) {
  const auto names = RowNames(column);
  for (const Entry& entry : column.entries) {
    const RunRecord& record = entry.record();
    std::set<int64_t> expected = {record.selected_step()};
    for (const SplitResult& result : record.results()) expected.insert(result.step());
    if (record.test_looks_size() <= static_cast<int>(expected.size())) continue;
    notes->push_back(absl::StrFormat("%s, seed %d: looked at the test split %d times.",
                                     names.at(entry.located), record.seed(),
                                     record.test_looks_size()));
  }
}

// "lra 0.1.0 (a35ade6)".
std::string BuildOf(const Versions& v) {
  std::string text = absl::StrCat("lra ", v.lra().empty() ? "of an unknown version" : v.lra());
  if (!v.commit().empty()) absl::StrAppend(&text, " (", v.commit(), ")");
  return text;
}

// "lra 0.1.0 (a35ade6)", with the library and the compiler where those of the column differ.
std::vector<std::string> BuildsOf(const std::vector<const Versions*>& versions) {
  std::set<std::string> libraries, compilers;
  for (const Versions* v : versions) {  // baselines need no library
    if (!v->libtorch().empty()) libraries.insert(v->libtorch());
    if (!v->compiler().empty()) compilers.insert(v->compiler());
  }
  std::vector<std::string> builds;
  for (const Versions* v : versions) {
    std::string& build = builds.emplace_back(BuildOf(*v));
    if (libraries.size() > 1 && !v->libtorch().empty())
      absl::StrAppend(&build, ", LibTorch ", v->libtorch());
    if (compilers.size() > 1 && !v->compiler().empty())
      absl::StrAppend(&build, ", ", v->compiler());
  }
  return builds;
}

// The builds that a run was trained and scored by.
std::vector<const Versions*> VersionsOf(const RunRecord& record) {
  std::vector<const Versions*> versions = {&record.versions()};
  for (const TrainingStretch& stretch : record.stretch()) versions.push_back(&stretch.versions());
  return versions;
}

std::string DescribeVersions(const std::vector<ColumnRuns>& columns) {
  std::set<std::string> versions;
  for (const ColumnRuns& column : columns) {
    for (const Entry& entry : column.entries) {
      for (const Versions* v : VersionsOf(entry.record())) {
        std::string text = BuildOf(*v);
        if (!v->libtorch().empty()) absl::StrAppend(&text, " with LibTorch ", v->libtorch());
        versions.insert(text);
      }
    }
  }
  return absl::StrCat("Made by ", absl::StrJoin(versions, "; "), ".");
}

}  // namespace

std::string WhyUnjudged(const ColumnRuns& column) {
  const RunRecord& first = column.entries.front().record();
  if (first.kind() != RunRecord::MEASURED ||
      !BaselinesOf(column, WhichBaselines::kMajority).empty())
    return "";
  return absl::StrCat(
      "no ", MereGuessOf(first.spec()), " is on record (`lra baseline ", column.task, "`)",
      column.metric().traits().tells_training ? ", so every scored run counts as trained" : "");
}

std::string DescribeBuilds(const ColumnRuns& column) {
  std::vector<const Versions*> versions;
  std::vector<std::string> methods;
  bool is_dirty = false;
  for (const Entry& entry : column.entries) {
    if (entry.result == nullptr) continue;
    for (const Versions* v : VersionsOf(entry.record())) {
      if (v->commit().empty()) continue;
      versions.push_back(v);
      methods.push_back(entry.record().method());
      is_dirty |= absl::EndsWith(v->commit(), kDirty);
    }
  }
  const std::vector<std::string> builds = BuildsOf(versions);
  std::map<std::string, std::set<std::string>> rows;  // by build
  for (size_t i = 0; i < builds.size(); ++i) rows[builds[i]].insert(methods[i]);
  if (rows.size() < 2 && !is_dirty) return "";
  const auto with_rows = [&rows](std::string* out, const auto& build) {
    absl::StrAppend(out, build.first);
    if (rows.size() > 1) absl::StrAppend(out, ": ", absl::StrJoin(build.second, ", "));
  };
  return absl::StrCat(
      column.task,
      rows.size() > 1 ? ": its rows were made by different builds: " : ": its rows were made by ",
      absl::StrJoin(rows, "; ", with_rows), ".",
      is_dirty ? " A build marked dirty had changes that were not committed." : "");
}

std::vector<std::string> MakeNotes(const std::vector<ColumnRuns>& columns,
                                   const LeaderboardOptions& options) {
  std::vector<std::string> notes;
  std::vector<ColumnRuns> counted;  // builds and machines are those of the numbers
  for (const ColumnRuns& column : columns) {
    counted.push_back(WithoutRepeats(column));
    notes.push_back(DescribeData(column, options));
    for (std::string note : {DescribeOtherSplits(column, options.split), DescribeBlocks(column)}) {
      if (!note.empty()) notes.push_back(std::move(note));
    }
    if (column.entries.front().record().kind() == RunRecord::MEASURED) {
      notes.push_back(DescribeSettings(column));
      notes.push_back(DescribeRuns(column));
      for (std::string note :
           {DescribeLaterLooks(column), DescribeMethodRules(column),
            DescribeSelectionOnTest(column), DescribeUnscored(column),
            DescribeMissingExamples(column), DescribeChance(column), DescribeUnjudged(column)}) {
        if (!note.empty()) notes.push_back(std::move(note));
      }
    }
    for (std::string note :
         {DescribeExternalRuns(counted.back()), DescribeBuilds(counted.back())}) {
      if (!note.empty()) notes.push_back(std::move(note));
    }
    AddDamage(column, &notes);
    AddFailures(column, &notes);
    AddTestLooks(column, &notes);
  }
  for (std::string& note : DescribeSizes(columns)) notes.push_back(std::move(note));
  for (std::string& note : DescribeMethods(columns, options)) notes.push_back(std::move(note));
  if (std::string note = DescribeMachines(counted); !note.empty()) notes.push_back(std::move(note));
  notes.push_back(DescribeVersions(counted));
  return notes;
}

}  // namespace lra::internal
