#include "suite/estimates.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

std::string PlanFolder(const std::string& out) { return JoinPath(out, "plan"); }

std::string EstimatePath(const std::string& out, const std::string& cell) {
  return JoinPath(PlanFolder(out), absl::StrCat(cell, ".textproto"));
}

absl::StatusOr<RunEstimate> ReadJsonEstimate(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(const std::string json, ReadFile(path));
  RunEstimate estimate;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // what `lra train` says of all its seeds
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &estimate, options);
  if (!parsed.ok() || estimate.wall_seconds() <= 0)
    return absl::InternalError(absl::StrCat(path, " holds no estimate"));
  return estimate;
}

class Measuring {
 public:
  Measuring(const std::vector<SuiteCell>& cells, const MeasureOptions& options)
      : options_(options),
        processes_(options.workers, options.deadline, options.pinning),
        queue_(TakeValid(cells)),
        progress_({.label = "measure steps",
                   .unit = "cells",
                   .total = static_cast<int64_t>(queue_.size()),
                   .quiet = options.is_quiet || queue_.empty()}) {}

  absl::StatusOr<MeasuredCells> Run() {
    if (queue_.empty()) return std::move(measured_);
    LRA_RETURN_IF_ERROR(MakeDirectories(PlanFolder(options_.out)));
    SayThatItBegins();
    LRA_RETURN_IF_ERROR(processes_.Run([this](int worker) { return Work(worker); }));
    return std::move(measured_);
  }

 private:
  // Takes what is there with the same key, and returns the others.
  std::deque<const SuiteCell*> TakeValid(const std::vector<SuiteCell>& cells) {
    const EstimateOfCell there = ReadEstimates(options_.out, cells);
    std::deque<const SuiteCell*> others;
    for (const SuiteCell& cell : cells) {
      const auto found = there.find(CellName(cell));
      if (found != there.end() && found->second.key() == EstimateKey(cell, options_))
        measured_.estimates.insert(*found);
      else
        others.push_back(&cell);
    }
    return others;
  }

  // The bar's first line comes behind the first cell, which may take minutes.
  void SayThatItBegins() const {
    if (options_.is_quiet) return;
    std::cerr << "measuring some steps of " << queue_.size()
              << (queue_.size() == 1 ? " cell, " : " cells, ")
              << std::min(static_cast<int64_t>(queue_.size()),
                          static_cast<int64_t>(options_.workers))
              << " at once; where they are of full size, that takes minutes\n";
  }

  absl::Status Work(int worker) {
    while (const SuiteCell* cell = Next()) {
      const absl::Status measured = Measure(*cell, worker);
      if (absl::IsCancelled(measured)) return absl::OkStatus();
      LRA_RETURN_IF_ERROR(measured);
      std::lock_guard<std::mutex> lock(mutex_);
      progress_.Update(++done_, CellName(*cell));
    }
    return absl::OkStatus();
  }

  const SuiteCell* Next() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return nullptr;
    const SuiteCell* cell = queue_.front();
    queue_.pop_front();
    return cell;
  }

  // Parts of a suite may measure the same cell for the same folder at once: what each of them
  // writes is in a folder of its own, which goes with the measurement. Where file locks do not
  // reach other machines, a part there may take a measurement of more than a minute for the
  // leftovers of a killed process, and remove it.
  absl::Status Measure(const SuiteCell& cell, int worker) {
    const std::string name = CellName(cell);
    LRA_ASSIGN_OR_RETURN(const StagingDirectory own,
                         StagingDirectory::Create(
                             absl::StrCat(JoinPath(PlanFolder(options_.out), name), ".measured")));
    const std::string log = JoinPath(own.path(), "log"), run = JoinPath(own.path(), "run");
    const std::string output = JoinPath(own.path(), "estimate.json");
    LRA_ASSIGN_OR_RETURN(
        const Processes::End end,
        processes_.RunProcess(
            worker, {.words = options_.command(cell, run, worker), .log = log, .output = output}));
    if (end.was_stopped) return absl::CancelledError("stopped");
    const absl::StatusOr<RunEstimate> estimate = ReadJsonEstimate(output);
    const std::string words = LastLine(ReadFile(log).value_or(""));
    std::lock_guard<std::mutex> lock(mutex_);
    if (end.signal != 0 || end.exit_code != 0 || !estimate.ok()) {
      measured_.failures[name] = !words.empty()    ? words
                                 : end.signal != 0 ? absl::StrCat("signal ", end.signal)
                                                   : std::string(estimate.status().message());
      return absl::OkStatus();
    }
    SuiteEstimate& kept = measured_.estimates[name];
    // One without the cores that were asked for is no measurement of workers that have them.
    if (end.was_pinned || options_.pinning.locks == nullptr)
      kept.set_key(EstimateKey(cell, options_));
    *kept.mutable_estimate() = *estimate;
    kept.set_workers(options_.workers);
    kept.set_device(options_.device);
    kept.set_unix_seconds(UnixSeconds());
    return WriteFileAtomically(EstimatePath(options_.out, name), ToTextProto(kept));
  }

  const MeasureOptions& options_;
  Processes processes_;
  std::mutex mutex_;
  // Guarded by mutex_.
  MeasuredCells measured_;
  std::deque<const SuiteCell*> queue_;
  Progress progress_;
  int64_t done_ = 0;
};

}  // namespace

std::string EstimateKey(const SuiteCell& cell, const MeasureOptions& options) {
  const auto data = options.data_of_task.find(cell.config.task());
  const Versions program = RunVersions("");
  return Sha256Hex(absl::StrJoin(
      {CellFingerprint(cell.config), data == options.data_of_task.end() ? "" : data->second,
       absl::StrCat(options.threads, options.pinning.locks == nullptr ? "" : " pinned"),
       absl::StrJoin(options.train_flags, "\n"), absl::StrCat(options.workers),
       DescribeMachine().cpu(), program.lra(), program.commit()},
      "\n"));
}

EstimateOfCell ReadEstimates(const std::string& out, const std::vector<SuiteCell>& cells) {
  EstimateOfCell estimates;
  for (const SuiteCell& cell : cells) {
    const std::string name = CellName(cell);
    if (estimates.count(name) > 0) continue;
    SuiteEstimate estimate;
    // A file that cannot be read is measured anew.
    if (ReadTextProto(EstimatePath(out, name), &estimate).ok()) estimates[name] = estimate;
  }
  return estimates;
}

absl::StatusOr<MeasuredCells> MeasureCells(const std::vector<SuiteCell>& cells,
                                           const MeasureOptions& options) {
  return Measuring(cells, options).Run();
}

}  // namespace lra
