#include "tasks/verify.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/classes.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/verify.h"
#include "google/protobuf/util/message_differencer.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "tasks/data_only.h"
#include "tasks/task.h"

namespace lra {
namespace {

// The task, if this program has it with the same spec; otherwise nullptr, with the reason in the
// report.
absl::StatusOr<std::unique_ptr<Task>> MatchingTask(VerifyReport* report) {
  const std::string& name = report->manifest.spec().name();
  if (!TaskRegistry::Get().Has(name)) {
    report->notes.push_back(
        absl::StrCat("this program has no task \"", name, "\": labels were not evaluated anew"));
    return nullptr;
  }
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Task> task, TaskOf(report->manifest));
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(task->Spec(), report->manifest.spec())) return task;
  report->problems.push_back(absl::StrCat("the manifest's spec is not that of task ", name, ": ",
                                          differences.substr(0, differences.find('\n'))));
  return nullptr;
}

void NoteClasses(bool has_code, VerifyReport* report) {
  // A task with code knows how many classes it has.
  std::string note = has_code ? "" : EmptyClassesNote(report->manifest);
  if (!note.empty()) report->notes.push_back(std::move(note));
  if (const absl::Status shared = CheckClasses(report->manifest); !shared.ok()) {
    report->notes.push_back(std::string(shared.message()));
    return;
  }
  for (std::string& sentence : DescribeClasses(report->manifest))
    report->notes.push_back(std::move(sentence));
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyDataset(absl::string_view directory,
                                           const VerifyOptions& options) {
  LRA_ASSIGN_OR_RETURN(const Dataset data,
                       Dataset::Open(directory, {.allow_part = true, .threads = options.threads}));
  VerifyReport report;
  report.manifest = data.manifest();
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MatchingTask(&report));
  LabelOracle oracle;
  if (task != nullptr && task->HasOracle(report.manifest.origin())) {
    oracle = [&task](const StoredExample& example) { return task->OracleLabel(example); };
  } else if (task != nullptr) {
    report.notes.push_back(absl::StrCat("labels of ", report.manifest.origin(),
                                        " data of this task do not follow from its examples"));
  }
  if (report.manifest.has_part()) {
    report.notes.push_back(absl::StrCat("this is part ", report.manifest.part().index(), " of ",
                                        report.manifest.part().parts(), ", counted from 0"));
  }
  if (!report.manifest.has_part()) NoteClasses(task != nullptr, &report);
  // Rules in a folder of another name are not found.
  if (FileExists(JoinPath(directory, kDataOnlyTaskFile))) {
    const absl::Status is_found = CheckDataOnlyFolder(std::string(directory), data.spec().name());
    if (!is_found.ok()) report.notes.push_back(std::string(is_found.message()));
  }
  int64_t total = 0;
  for (const ManifestSplit& split : report.manifest.splits()) total += split.examples();
  Progress progress({.label = absl::StrCat("verify ", data.spec().name()),
                     .unit = "examples",
                     .total = total,
                     .quiet = options.quiet});
  ContentReport content =
      VerifyContent(data, oracle, options.threads, [&](int64_t done) { progress.Update(done); });
  progress.Finish();
  report.labels_checked = content.labels_checked;
  report.duplicates = std::move(content.duplicates);
  report.shared_documents = std::move(content.shared_documents);
  report.problems.insert(report.problems.end(), content.problems.begin(), content.problems.end());
  if (report.manifest.origin() == "generated" && !report.duplicates.empty()) {
    report.problems.push_back("generated data holds duplicates");
  }
  report.canonical = report.ok() && IsCanonical(report.manifest);
  return report;
}

}  // namespace lra
