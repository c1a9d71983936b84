#include "suite/slurm.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/child.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::StatusOr<ChildOutcome> RunClient(std::vector<std::string> words,
                                       const std::vector<std::string>& without) {
  const std::string program = words.front();
  absl::StatusOr<ChildOutcome> outcome = RunChild({.words = std::move(words), .without = without});
  if (!absl::IsNotFound(outcome.status())) return outcome;
  return absl::NotFoundError(absl::StrCat(
      program,
      " was not found: Slurm's client commands must be on $PATH, as on a cluster's login "
      "node (Debian: slurm-client)"));
}

// What a client had to say when it failed; its lines begin with its name.
std::string Words(const ChildOutcome& outcome) {
  const std::string words(absl::StripAsciiWhitespace(outcome.errors));
  if (!words.empty()) return words;
  return outcome.signal != 0 ? absl::StrCat("signal ", outcome.signal)
                             : absl::StrCat("exit code ", outcome.exit_code);
}

bool Failed(const ChildOutcome& outcome) { return outcome.signal != 0 || outcome.exit_code != 0; }

// The words of a client command that is about jobs of this cluster.
std::vector<std::string> AtCluster(std::vector<std::string> words, const std::string& cluster) {
  if (!cluster.empty()) words.push_back(absl::StrCat("--clusters=", cluster));
  return words;
}

std::map<std::string, std::vector<std::string>> NumbersByCluster(
    const std::vector<SlurmJob>& jobs) {
  std::map<std::string, std::vector<std::string>> numbers;
  for (const SlurmJob& job : jobs) numbers[job.cluster].push_back(job.number);
  return numbers;
}

// "12_3|..." of `lines` with this many fields each; others are no answers.
std::vector<std::vector<std::string>> Rows(absl::string_view lines, size_t fields) {
  std::vector<std::vector<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    std::vector<std::string> row = absl::StrSplit(line, '|');
    if (row.size() == fields) rows.push_back(std::move(row));
  }
  return rows;
}

// By the last line of the form "12" or "12;cluster": a site's own sbatch may say more around it.
std::optional<SlurmJob> JobNamedIn(absl::string_view output) {
  std::optional<SlurmJob> job;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(absl::StripAsciiWhitespace(line), ';');
    const std::string& number = parts.front();
    if (!number.empty() && number.find_first_not_of("0123456789") == std::string::npos)
      job = {number, parts.size() > 1 ? parts[1] : ""};
  }
  return job;
}

}  // namespace

std::string DescribeJob(absl::string_view number, absl::string_view cluster) {
  return absl::StrCat("Slurm job ", number,
                      cluster.empty() ? "" : absl::StrCat(" of cluster ", cluster));
}

std::vector<std::string> NumbersOf(const std::vector<SlurmJob>& jobs) {
  std::vector<std::string> numbers;
  for (const SlurmJob& job : jobs) numbers.push_back(job.number);
  return numbers;
}

std::string CancelCommand(const std::vector<SlurmJob>& jobs) {
  std::vector<std::string> commands;
  for (const auto& [cluster, numbers] : NumbersByCluster(jobs)) {
    std::vector<std::string> words = AtCluster({"scancel"}, cluster);
    words.insert(words.end(), numbers.begin(), numbers.end());
    commands.push_back(absl::StrJoin(words, " "));
  }
  return absl::StrJoin(commands, "; ");
}

absl::StatusOr<SlurmJob> SubmitScript(const std::string& script,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& without) {
  std::vector<std::string> words = {"sbatch", "--parsable"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(script);
  LRA_ASSIGN_OR_RETURN(const ChildOutcome outcome, RunClient(std::move(words), without));
  if (Failed(outcome)) {
    return absl::FailedPreconditionError(
        absl::StrCat("sbatch refused ", script, ": ", Words(outcome)));
  }
  if (const std::optional<SlurmJob> job = JobNamedIn(outcome.output)) return *job;
  return absl::FailedPreconditionError(
      absl::StrCat("sbatch took ", script, " but named no job: ", outcome.output));
}

// A user's SQUEUE_STATES would hide what is queued, and so would a hidden partition without --all.
absl::StatusOr<Queue> AskQueue(const std::vector<std::string>& job_names,
                               const std::string& cluster) {
  LRA_ASSIGN_OR_RETURN(
      const ChildOutcome outcome,
      RunClient(AtCluster({"squeue", "--noheader", "--all", "--array", "--format=%j|%K|%F|%T|%r",
                           absl::StrCat("--name=", absl::StrJoin(job_names, ","))},
                          cluster),
                {"SQUEUE_*"}));
  if (Failed(outcome)) {
    return absl::UnavailableError(absl::StrCat(
        "squeue does not say what is queued",
        cluster.empty() ? "" : absl::StrCat(" on cluster ", cluster), ": ", Words(outcome)));
  }
  Queue queue;
  for (const std::vector<std::string>& row : Rows(outcome.output, 5)) {
    int index = 0;
    if (!absl::SimpleAtoi(row[1], &index)) continue;
    queue[{row[0], index}] = {{row[2], cluster}, row[3], row[4] == "None" ? "" : row[4]};
  }
  return queue;
}

History AskHistory(const std::vector<SlurmJob>& jobs) {
  History history;
  for (const auto& [cluster, numbers] : NumbersByCluster(jobs)) {
    const auto outcome =
        RunChild({.words = AtCluster({"sacct", "--noheader", "--parsable2", "--allocations",
                                      "--format=JobID,State",
                                      absl::StrCat("--jobs=", absl::StrJoin(numbers, ","))},
                                     cluster)});
    if (!outcome.ok() || Failed(*outcome)) continue;
    for (const std::vector<std::string>& row : Rows(outcome->output, 2))
      history[{cluster, row[0]}] = row[1];
  }
  return history;
}

}  // namespace lra
