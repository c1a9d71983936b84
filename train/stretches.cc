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
  machine.set_kernels(KernelsName(config.numerics().precision() == NumericsConfig::BF16));
  machine.set_device(DescribeDevice(device));
  *stretch.mutable_versions() = RunVersions(TORCH_VERSION);
  return stretch;
}

void NoteTrainer(TrainingStretch now, CheckpointState* state) {
  now.set_after_step(state->step());
  if (state->stretch().empty() || !IsSame(*state->stretch().rbegin(), now))
    *state->add_stretch() = std::move(now);
}

void RecordTrainers(const CheckpointState& state, const TrainingStretch& now, RunRecord* record) {
  *record->mutable_machine() = now.machine();
  *record->mutable_versions() = now.versions();
  const bool is_all = state.stretch_size() == 1 && state.stretch(0).after_step() == 0 &&
                      IsSame(state.stretch(0), now);
  if (!is_all) *record->mutable_stretch() = state.stretch();
}

}  // namespace lra
