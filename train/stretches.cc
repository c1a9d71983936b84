#include "train/stretches.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <tuple>
#include <utility>

#include "eval/machine.h"
#include "models/base/device_work.h"
#include "models/base/product_type.h"

namespace lra {
namespace {

// Memory and system may change from one start of a machine to the next, and decide no bit.
bool IsSame(const TrainingStretch& a, const TrainingStretch& b) {
  const auto key = [](const TrainingStretch& stretch) {
    const Machine& machine = stretch.machine();
    const Versions& versions = stretch.versions();
    return std::tie(machine.cpu(), machine.cpu_capability(), machine.kernels(), machine.device(),
                    versions.lra(), versions.commit(), versions.libtorch(), versions.compiler());
  };
  return key(a) == key(b) && a.machine().cores() == b.machine().cores();
}

}  // namespace

TrainingStretch DescribeTrainer(const ExperimentConfig& config, const at::Device& device) {
  TrainingStretch stretch;
  Machine& machine = *stretch.mutable_machine();
  machine = DescribeMachine();
  machine.set_cpu_capability(at::get_cpu_capability());
  machine.set_kernels(KernelsName(device, config.numerics().precision() == NumericsConfig::BF16));
  machine.set_device(DescribeDevice(device));
  *stretch.mutable_versions() = RunVersions(TORCH_VERSION);
  return stretch;
}

void NoteTrainer(TrainingStretch now, CheckpointState* state) {
  now.set_after_step(state->step());
  auto* stretches = state->mutable_stretch();
  // Whoever had it before took no step.
  if (!stretches->empty() && stretches->rbegin()->after_step() == state->step())
    stretches->RemoveLast();
  if (stretches->empty() || !IsSame(*stretches->rbegin(), now)) *stretches->Add() = std::move(now);
}

void NoteProcesses(int processes, int runs_at_once, bool exact_reduction, CheckpointState* state) {
  Efficiency& efficiency = *state->mutable_efficiency();
  efficiency.set_processes(processes);
  efficiency.set_runs_at_once(runs_at_once > 1 ? runs_at_once : 0);
  efficiency.set_exact_reduction(exact_reduction &&
                                 (state->step() == 0 || efficiency.exact_reduction()));
}

void RecordTrainers(const CheckpointState& state, const TrainingStretch& now, RunRecord* record) {
  *record->mutable_machine() = now.machine();
  *record->mutable_versions() = now.versions();
  auto stretches = state.stretch();
  // Who only scored a trained model took no step.
  if (!stretches.empty() && state.step() > 0 && stretches.rbegin()->after_step() == state.step())
    stretches.RemoveLast();
  const bool is_all = stretches.size() == 1 && stretches.begin()->after_step() == 0 &&
                      IsSame(*stretches.begin(), now);
  if (!is_all) *record->mutable_stretch() = stretches;
}

}  // namespace lra
