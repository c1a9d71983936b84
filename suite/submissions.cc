#include "suite/submissions.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "eval/machine.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordSuffix[] = ".textproto";

// Unlike folders have unlike names of jobs, of which squeue is asked, and so have unlike times: a
// number is given again where a job was refused. Slurm's lists of names are cut at commas.
std::string JobName(const std::string& folder, const std::string& name, int number) {
  std::string plain = name;
  for (char& letter : plain) {
    if (!absl::ascii_isalnum(letter) && letter != '_' && letter != '-' && letter != '.')
      letter = '_';
  }
  const std::string unique = absl::StrCat(folder, "\n", absl::GetCurrentTimeNanos());
  return absl::StrCat(plain, "-", ShortFingerprint(Sha256Hex(unique)), "-", number);
}

SlurmSubmission RecordOf(const JobArray& array) {
  SlurmSubmission record;
  record.set_job_name(array.name);
  record.mutable_item()->Assign(array.items.begin(), array.items.end());
  record.set_limit_seconds(array.limit_seconds);
  record.set_memory_bytes(array.memory_bytes);
  record.set_unix_seconds(UnixSeconds());
  record.mutable_word()->Assign(array.words.begin(), array.words.end());
  return record;
}

ItemState QueuedItem(const SlurmSubmission& submission, int index, const QueuedElement& element) {
  return {.is_queued = true,
          .element = absl::StrCat(element.job.number, "_", index),
          .cluster = element.job.cluster,
          .state = element.state,
          .reason = element.reason,
          .words = {submission.word().begin(), submission.word().end()}};
}

ItemState EndedItem(const SlurmSubmission& submission, int index, const History& history,
                    const std::string& folder) {
  const std::string element = absl::StrCat(submission.job(), "_", index);
  const auto ended = history.find({submission.cluster(), element});
  const std::string log = LogOfElement(folder, element);
  return {.element = element,
          .cluster = submission.cluster(),
          .state = ended == history.end() ? "" : ended->second,
          .left_no_log = !FileExists(log),
          .memory_bytes = submission.memory_bytes(),
          .log = log};
}

// Why an element ended whose run had not begun, say.
std::string LastWords(const std::string& log) {
  constexpr int64_t kMostBytes = 16 << 20;
  constexpr size_t kShownBytes = 200;
  const std::string line = LastLine(ReadFile(log, kMostBytes).value_or(""));
  return line.empty() ? "" : absl::StrCat(": ", QuotedName(line, kShownBytes), " (", log, ")");
}

// The job of this name, where sbatch took it and did not say so: it got no answer in time, or a
// site's own sbatch has other words. `failure`, of sbatch, where there is none.
absl::StatusOr<SlurmJob> QueuedJob(const std::string& name, const absl::Status& failure) {
  const absl::StatusOr<Queue> queue = AskQueue({name}, "");
  if (!queue.ok()) {
    return absl::UnavailableError(absl::StrCat(
        failure.message(), "\nIt may be queued all the same: ", queue.status().message(),
        "\nThe same command finds it, or submits it again, once squeue answers"));
  }
  if (queue->empty()) return failure;
  return queue->begin()->second.job;
}

}  // namespace

std::string DescribeItem(const ItemState& item) {
  const std::string job = DescribeJob(item.element, item.cluster);
  if (item.is_queued) {
    const bool waits = item.state == "PENDING" && !item.reason.empty();
    return absl::StrCat(job, " ", absl::AsciiStrToLower(item.state),
                        waits ? absl::StrCat(" (", item.reason, ")") : "");
  }
  const std::string of = item.lacked_memory() && item.memory_bytes > 0
                             ? absl::StrCat(" of ", FormatBytes(item.memory_bytes))
                             : "";
  const std::string ended = absl::StrCat(
      job, " ended", item.state.empty() ? "" : absl::StrCat(" (", item.state, of, ")"));
  if (!item.left_no_log) return absl::StrCat(ended, LastWords(item.log));
  return absl::StrCat(ended,
                      " and wrote nothing here: cancelled, or do nodes not see this folder?");
}

absl::StatusOr<std::optional<FileLock>> Submissions::Lock(const std::string& folder) {
  LRA_RETURN_IF_ERROR(MakeDirectories(folder));
  absl::StatusOr<FileLock> lock = FileLock::Acquire(JoinPath(folder, ".lock"));
  if (absl::IsUnimplemented(lock.status())) return std::optional<FileLock>();
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(lock.status().message(),
                     ", which submits jobs of this folder; begin again once it has ended"));
  }
  LRA_RETURN_IF_ERROR(lock.status());
  return std::optional<FileLock>(*std::move(lock));
}

absl::StatusOr<Submissions> Submissions::Read(const std::string& folder) {
  Submissions submissions(AbsolutePath(folder));
  std::error_code none;
  for (fs::directory_iterator it(folder, none), end; !none && it != end; it.increment(none)) {
    const std::string name = it->path().filename().string();
    int number = 0;
    absl::string_view digits = name;
    if (!absl::ConsumeSuffix(&digits, kRecordSuffix) || !absl::SimpleAtoi(digits, &number))
      continue;
    LRA_RETURN_IF_ERROR(ReadTextProto(it->path().string(), &submissions.all_[number]));
  }
  return submissions;
}

absl::StatusOr<Queue> Submissions::AskQueues() const {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> records;  // by cluster
  for (const auto& [number, one] : all_) {
    names.push_back(one.job_name());
    records[one.cluster()].push_back(RecordPath(number));
  }
  Queue all;
  for (const auto& [cluster, paths] : records) {
    absl::StatusOr<Queue> queue = AskQueue(names, cluster);
    if (absl::IsUnavailable(queue.status()) && !cluster.empty()) {
      return absl::UnavailableError(
          absl::StrCat(queue.status().message(),
                       "; if that cluster is no more, move the records of its jobs away: ",
                       absl::StrJoin(paths, " ")));
    }
    LRA_RETURN_IF_ERROR(queue.status());
    all.merge(*queue);
  }
  return all;
}

absl::StatusOr<ItemStates> Submissions::Items() const {
  std::vector<SlurmJob> jobs;
  for (const auto& [number, one] : all_)
    if (!one.job().empty()) jobs.push_back({one.job(), one.cluster()});
  LRA_ASSIGN_OR_RETURN(const Queue queue, AskQueues());
  const History history = AskHistory(jobs);
  ItemStates items;
  for (const auto& [number, one] : all_) {
    for (int i = 0; i < one.item_size(); ++i) {
      const auto queued = queue.find({one.job_name(), i});
      if (queued != queue.end()) {
        items[one.item(i)] = QueuedItem(one, i, queued->second);
      } else if (!one.job().empty() && !items[one.item(i)].is_queued) {
        items[one.item(i)] = EndedItem(one, i, history, folder_);
      }
    }
  }
  return items;
}

std::vector<SlurmJob> Submissions::QueuedJobs(const std::vector<ItemState>& items) {
  std::set<std::pair<std::string, std::string>> numbers;  // by cluster
  for (const ItemState& item : items) {
    if (item.is_queued)
      numbers.emplace(item.cluster, item.element.substr(0, item.element.find('_')));
  }
  std::vector<SlurmJob> jobs;
  for (const auto& [cluster, number] : numbers) jobs.push_back({number, cluster});
  return jobs;
}

std::string Submissions::RecordPath(int number) const {
  return JoinPath(folder_, absl::StrCat(number, kRecordSuffix));
}

JobArray Submissions::Named(JobArray array) const {
  array.folder = folder_;
  array.name = JobName(folder_, array.name, Next());
  return array;
}

absl::StatusOr<SlurmJob> Submissions::Submit(JobArray array, const ClusterOptions& options) {
  array = Named(std::move(array));
  const int number = Next();
  const std::string script = JoinPath(folder_, absl::StrCat(number, ".sh"));
  SlurmSubmission record = RecordOf(array);
  LRA_RETURN_IF_ERROR(MakeDirectories(folder_));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(script, SlurmScript(array, options)));
  // Before the job exists, so that it is known whatever ends this process next.
  LRA_RETURN_IF_ERROR(WriteFileAtomically(RecordPath(number), ToTextProto(record)));
  absl::StatusOr<SlurmJob> job =
      SubmitScript(script, options.sbatch_arguments, VariablesOverScript(array, options));
  if (!job.ok() && !absl::IsNotFound(job.status())) job = QueuedJob(array.name, job.status());
  if (absl::IsUnavailable(job.status())) return job.status();
  if (!job.ok()) {
    RemoveAll(script).IgnoreError();
    RemoveAll(RecordPath(number)).IgnoreError();
    return job.status();
  }
  record.set_job(job->number);
  record.set_cluster(job->cluster);
  all_[number] = record;
  LRA_RETURN_IF_ERROR(WriteFileAtomically(RecordPath(number), ToTextProto(record)));
  return *job;
}

}  // namespace lra
