#include "suite/designs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "eval/published.h"
#include "eval/run_folders.h"
#include "lra/status_macros.h"
#include "suite/design_runs.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

// Takes out what is about other tasks and attentions, which would be refused.
void KeepOwn(SuiteGroup* one) {
  for (int i = one->for_task_size(); i-- > 0;) {
    if (one->for_task(i).task() != one->task(0)) one->mutable_for_task()->DeleteSubrange(i, 1);
  }
  if (!one->has_search()) return;
  auto* const rates = one->mutable_search()->mutable_for_attention();
  for (int i = rates->size(); i-- > 0;) {
    if (rates->at(i).attention() != one->attention(0)) rates->DeleteSubrange(i, 1);
  }
}

// A group as a designed experiment, or a pair of it: a factor of its two cells.
struct Design {
  SuiteGroup group;
  const SuitePair* pair = nullptr;
  google::protobuf::RepeatedPtrField<SuiteEncoder> encoders{};

  bool has_attention_factor() const {
    return (pair == nullptr || pair->first().attention().empty()) && group.attention_size() > 1;
  }
};

std::vector<Design> DesignsOf(const SuiteFile& suite) {
  std::vector<Design> designs;
  for (const SuiteGroup& group : suite.group()) {
    if (group.cell_size() == 0 && group.pair_size() == 0) designs.push_back({group});
    for (const SuitePair& pair : group.pair()) {
      Design& design = designs.emplace_back(Design{group, &pair});
      if (pair.first().task().empty()) continue;
      design.group.clear_task();
      design.group.add_task(pair.first().task());
    }
  }
  for (Design& design : designs) design.encoders = suite.encoder();
  return designs;
}

// "cosformer", "relu, model.positions=NO_POSITIONS".
std::string CaseText(const SuiteCase& one) {
  if (!one.name().empty()) return one.name();
  std::vector<std::string> parts(one.set().begin(), one.set().end());
  if (!one.attention().empty()) parts.insert(parts.begin(), one.attention());
  return parts.empty() ? "as the group" : absl::StrJoin(parts, ", ");
}

// The attentions where there are several, the two cells of a pair, then the group's own factors.
AblationFactors FactorsOf(const Design& design) {
  AblationFactors factors;
  const auto& attentions = design.group.attention();
  if (design.has_attention_factor())
    factors.push_back({kAttentionFactor, {attentions.begin(), attentions.end()}});
  if (design.pair != nullptr) {
    factors.push_back(
        {design.pair->name(), {CaseText(design.pair->first()), CaseText(design.pair->second())}});
  }
  for (const SuiteFactor& factor : design.group.factor()) {
    AblationFactor& added = factors.emplace_back();
    added.name = factor.name();
    for (const SuiteLevel& level : factor.level()) added.levels.push_back(level.name());
  }
  return factors;
}

// The group with one task, one attention and one level of each factor. The levels' settings come
// last, as in the suite itself.
SuiteFile SuiteOfCell(const Design& design, const std::string& task,
                      const std::vector<int>& levels) {
  const SuiteGroup& group = design.group;
  SuiteFile suite;
  *suite.mutable_encoder() = design.encoders;
  SuiteGroup* const one = suite.add_group();
  *one = group;
  one->clear_task();
  one->add_task(task);
  one->clear_factor();
  one->clear_cell();
  one->clear_pair();
  SuiteCase* const only = one->add_cell();
  size_t next = 0;
  if (design.has_attention_factor()) only->set_attention(group.attention(levels[next++]));
  if (design.pair != nullptr)
    only->MergeFrom(levels[next++] == 0 ? design.pair->first() : design.pair->second());
  only->clear_name();
  for (const SuiteFactor& factor : group.factor())
    only->mutable_set()->MergeFrom(factor.level(levels[next++]).set());
  if (!only->attention().empty()) {
    one->clear_attention();
    one->add_attention(only->attention());
  }
  KeepOwn(one);
  return suite;
}

// What a group is called among several: "attention x positions on image, text".
std::string TitleOf(const SuiteGroup& group, const AblationFactors& factors) {
  return absl::StrCat(
      absl::StrJoin(factors, " x ",
                    [](std::string* out, const AblationFactor& factor) { *out += factor.name; }),
      " on ", absl::StrJoin(group.task(), ", "));
}

// The runs that a design lacks: "listops, positions none: seed 1 (waiting)", and what `lra run` can
// do about them.
struct Gaps {
  std::vector<std::string> cells;
  bool is_left = false;     // some wait, or were stopped
  bool has_failed = false;  // some are tried again only where somebody asks
  bool has_ended = false;   // some have records, which cannot be used

  void Add(const std::string& where, const GridCell& cell) {
    const std::string runs = MissingText(cell);
    if (runs.empty()) return;
    cells.push_back(absl::StrCat(where, ": ", runs));
    for (const DesignRun& run : cell) {
      if (run.ended != nullptr) continue;
      const bool has_record =
          run.state == CellState::kFinished || run.state == CellState::kDiverged;
      has_ended |= has_record;
      has_failed |= run.state == CellState::kFailed;
      is_left |= !has_record && run.state != CellState::kFailed;
    }
  }
};

absl::Status Missing(const std::string& folder, const Gaps& gaps) {
  std::vector<std::string> advice;
  if (gaps.is_left) advice.emplace_back("`lra run` goes on with what is left");
  if (gaps.has_failed)
    advice.emplace_back("`lra run` tries again what failed with --retry-failed alone");
  if (gaps.has_ended)
    advice.emplace_back("what has ended is not trained again: behind it stands why it is missing");
  return absl::FailedPreconditionError(
      absl::StrCat(folder, ": the design is not complete; missing are\n  ",
                   absl::StrJoin(gaps.cells, "\n  "), "\n", absl::StrJoin(advice, "; ")));
}

// What was measured of a design on one task; its metric is null where no run has scores.
absl::StatusOr<AblationTask> ReadTask(const Design& design, const AblationFactors& factors,
                                      const std::string& name, const RunFinder& finder,
                                      Gaps* gaps) {
  AblationTask task;
  task.task = name;
  LikeScores scores;
  for (int i = 0; i < CellCount(factors); ++i) {
    LRA_ASSIGN_OR_RETURN(const GridCell cell,
                         ReadCell(SuiteOfCell(design, name, LevelsOf(factors, i)), finder));
    for (const DesignRun& run : cell) LRA_RETURN_IF_ERROR(scores.Check(run));
    AddCell(cell, &task);
    gaps->Add(absl::StrCat(name, ", ", CellText(factors, i)), cell);
  }
  task.metric = scores.metric();
  return task;
}

absl::StatusOr<Ablation> ReadDesign(const Design& design, const std::string& folder,
                                    const TrainedRuns& runs, Gaps* gaps) {
  Ablation ablation;
  ablation.factors = FactorsOf(design);
  ablation.title = TitleOf(design.group, ablation.factors);
  if (design.pair != nullptr) ablation.pair_factor = design.has_attention_factor() ? 1 : 0;
  const RunFinder finder(folder, runs);
  for (const std::string& name : design.group.task()) {
    const size_t known_gaps = gaps->cells.size();
    LRA_ASSIGN_OR_RETURN(AblationTask task, ReadTask(design, ablation.factors, name, finder, gaps));
    if (task.metric == nullptr && gaps->cells.size() == known_gaps) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, ": no run on ", name, " has a score: all diverged"));
    }
    ablation.tasks.push_back(std::move(task));
  }
  return ablation;
}

absl::StatusOr<FoundRuns> FindRuns(const AblateRequest& request, const std::string& folder) {
  std::vector<std::string> paths = {folder};
  paths.insert(paths.end(), request.baselines.begin(), request.baselines.end());
  absl::StatusOr<FoundRuns> found = FindRunRecords(paths, Damaged::kSetAside);
  // A suite that was just begun has no run at all: what is missing says more.
  if (!found.ok() && request.baselines.empty()) return FoundRuns();
  if (found.ok() && request.add_stopped) LRA_RETURN_IF_ERROR(request.add_stopped(&*found));
  return found;
}

absl::StatusOr<std::vector<PublishedTable>> LoadPublished(const std::vector<std::string>& names) {
  std::vector<PublishedTable> tables;
  for (const std::string& name : names) {
    LRA_ASSIGN_OR_RETURN(PublishedTable table, LoadPublishedTable(name));
    tables.push_back(WithoutRecalled(std::move(table)));
  }
  return tables;
}

// The suite of a request that makes sense.
absl::StatusOr<SuiteFile> RequestedSuite(const AblateRequest& request) {
  if (!(request.confidence > 0 && request.confidence < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("confidence ", request.confidence, " is not between 0 and 1, e.g. 0.95"));
  }
  return SuiteOfFolder(NormalFolder(request.folder));
}

// Why a suite has no effects, in a line: its missing runs would be many.
std::string WhyNoEffects(const std::string& folder, const absl::Status& refusal) {
  absl::string_view reason = refusal.message();
  if (absl::IsFailedPrecondition(refusal) && absl::StrContains(reason, '\n'))
    reason = "runs are missing; `lra ablate` names them";
  absl::ConsumePrefix(&reason, absl::StrCat(folder, ": "));
  return absl::StrCat(folder, ": no effects: ", reason);
}

}  // namespace

bool IsDesigned(const SuiteFile& suite) {
  return std::any_of(suite.group().begin(), suite.group().end(), [](const SuiteGroup& group) {
    return group.factor_size() > 0 || group.pair_size() > 0;
  });
}

absl::StatusOr<AblationReport> AblateSuite(const AblateRequest& request) {
  // What is wrong with the request is said before runs are read.
  LRA_RETURN_IF_ERROR(RequestedSuite(request).status());
  LRA_RETURN_IF_ERROR(LoadPublished(request.published).status());
  LRA_ASSIGN_OR_RETURN(const FoundRuns found, FindRuns(request, NormalFolder(request.folder)));
  std::vector<std::string> notes;
  LRA_ASSIGN_OR_RETURN(const TrainedRuns runs,
                       FindTrainedRuns(found, request.split, request.metric, &notes));
  LRA_ASSIGN_OR_RETURN(AblationReport report, AblateSuite(request, runs));
  report.notes = std::move(notes);
  return report;
}

absl::StatusOr<AblationReport> AblateSuite(const AblateRequest& request, const TrainedRuns& runs) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, RequestedSuite(request));
  LRA_ASSIGN_OR_RETURN(std::vector<PublishedTable> published, LoadPublished(request.published));
  const std::string folder = NormalFolder(request.folder);
  AblationReport report{FolderName(folder), suite.description(), {}, std::move(published)};
  Gaps gaps;
  std::vector<Ablation> designs;
  for (const Design& design : DesignsOf(suite)) {
    if (FactorsOf(design).empty()) continue;
    LRA_ASSIGN_OR_RETURN(designs.emplace_back(), ReadDesign(design, folder, runs, &gaps));
  }
  if (designs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folder,
                                                   ": its suite has no design: a group needs a "
                                                   "pair or, without cells, a factor or several "
                                                   "attentions"));
  }
  if (!gaps.cells.empty()) return Missing(folder, gaps);
  for (Ablation& design : designs) {
    design.split = request.split;
    if (designs.size() == 1) design.title.clear();
    report.designs.push_back(AnalyseAblation(std::move(design), request.confidence));
  }
  CorrectPairs(&report.designs);
  return report;
}

absl::StatusOr<SuiteEffects> AblateSuites(absl::Span<const std::string> folders,
                                          const FoundRuns& found, AblateRequest request) {
  SuiteEffects effects;
  std::vector<std::string> designed(folders.begin(), folders.end());
  std::erase_if(designed, [](const std::string& folder) {
    const absl::StatusOr<SuiteFile> suite = SuiteOfFolder(folder);
    return suite.ok() && !IsDesigned(*suite);
  });
  if (designed.empty()) return effects;
  LRA_ASSIGN_OR_RETURN(const TrainedRuns runs,
                       FindTrainedRuns(found, request.split, request.metric));
  for (const std::string& folder : designed) {
    request.folder = folder;
    absl::StatusOr<AblationReport> report = AblateSuite(request, runs);
    if (report.ok())
      effects.reports.push_back(*std::move(report));
    else
      effects.problems.push_back(WhyNoEffects(folder, report.status()));
  }
  return effects;
}

}  // namespace lra
