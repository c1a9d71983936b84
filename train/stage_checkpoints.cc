#include "train/stage_checkpoints.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "eval/machine.h"
#include "lra/parallel.h"
#include "lra/seconds.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "run_folder/checkpoint.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

// What was spent before this process began; empty where that was not counted.
std::optional<double> Earlier(const Efficiency& earlier, bool was_counted, double amount) {
  if (was_counted) return amount;
  return earlier.wall_seconds() > 0 ? std::nullopt : std::optional<double>(0);
}

}  // namespace

void RecordPeakMemory(at::Device device, Efficiency* efficiency) {
  efficiency->set_peak_memory_bytes(std::max(efficiency->peak_memory_bytes(), PeakMemoryBytes()));
  efficiency->set_peak_device_memory_bytes(
      std::max(efficiency->peak_device_memory_bytes(), PeakDeviceBytes(device).value_or(0)));
}

StageCheckpoints::StageCheckpoints(const RuntimeConfig& runtime, const Stage& stage)
    : runtime_(runtime),
      stage_(stage),
      earlier_seconds_(stage.state->efficiency().wall_seconds()),
      earlier_joules_(Earlier(stage.state->efficiency(), stage.state->efficiency().has_joules(),
                              stage.state->efficiency().joules())),
      earlier_cpu_seconds_(Earlier(stage.state->efficiency(),
                                   stage.state->efficiency().has_cpu_seconds(),
                                   stage.state->efficiency().cpu_seconds())) {}

bool StageCheckpoints::TakeDue() {
  const int requests = SaveRequests();
  const bool was_asked = std::exchange(save_requests_, requests) != requests;
  const int64_t every_steps = runtime_.checkpoint_every_steps();
  if (every_steps > 0 && stage_.state->step() % every_steps == 0) return true;
  const double every_seconds = 60 * runtime_.checkpoint_every_minutes();
  return was_asked || (every_seconds > 0 && SecondsSince(saved_at_) >= every_seconds);
}

void StageCheckpoints::AddEfficiency() {
  Efficiency& efficiency = *stage_.state->mutable_efficiency();
  efficiency.set_wall_seconds(earlier_seconds_ + SecondsSince(begin_) - others_seconds_);
  // The counters cannot tell the runs of a process apart.
  const std::optional<double> joules =
      efficiency.runs_at_once() > 1 ? std::nullopt : energy_.Joules();
  efficiency.clear_joules();
  if (joules && earlier_joules_) efficiency.set_joules(*earlier_joules_ + *joules);
  // What other processes of a shared run use is not known here.
  const bool is_alone = efficiency.runs_at_once() <= 1 && efficiency.processes() <= 1;
  efficiency.clear_cpu_seconds();
  if (is_alone && earlier_cpu_seconds_)
    efficiency.set_cpu_seconds(*earlier_cpu_seconds_ + ProcessCpuSeconds() - cpu_begin_seconds_);
  RecordPeakMemory(stage_.objective->parameters().device(), &efficiency);
  efficiency.set_threads(ResolveThreads(runtime_.threads()));
  efficiency.set_micro_batch_examples(static_cast<int32_t>(stage_.micro_batch_examples));
}

void StageCheckpoints::Prune() const {
  std::vector<int64_t> keep = CheckpointSteps(stage_.directory);
  // Later steps belong to a process that was killed before it could update `latest`.
  std::erase_if(keep, [&](int64_t step) { return step > stage_.state->step(); });
  const size_t newest = std::max(1, runtime_.keep_checkpoints());
  if (keep.size() > newest) keep.erase(keep.begin(), keep.end() - newest);
  keep.push_back(stage_.state->best_step());
  keep.push_back(stage_.objective->kept_step());
  PruneCheckpoints(stage_.directory, keep);
}

absl::Status StageCheckpoints::Save() {
  AddEfficiency();
  const WeightAverage::Scope judged = stage_.optimizer->UseJudgedWeights();
  LRA_RETURN_IF_ERROR(SaveCheckpoint(stage_.directory, stage_.objective->parameters(),
                                     stage_.optimizer->State(), stage_.state));
  saved_at_ = Clock::now();
  Prune();
  return absl::OkStatus();
}

absl::Status StageCheckpoints::WithLatest(const absl::Status& status) const {
  if (status.ok() || IsInUse(status)) return status;
  const absl::StatusOr<std::string> latest = LatestCheckpoint(stage_.directory);
  return absl::Status(
      status.code(),
      absl::StrCat(stage_.objective->name(), " stopped after step ", stage_.state->step(), ": ",
                   status.message(), "; ",
                   latest.ok() ? absl::StrCat(*latest, " is whole: --resume goes on from it")
                               : "there is no checkpoint yet"));
}

}  // namespace lra
