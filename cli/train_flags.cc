#include "cli/train_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"

namespace lra {

void TrainFlags::Add(CLI::App* command, CommandContext* context) {
  constexpr FlagRules kCount = {.shows_default = true, .allowed = FlagRules::kNonNegative};
  AddExperimentFlags(command, &experiment_);
  AddData(command, &data_dir_);
  AddOption(command, "--out", &out_dir_,
            "Run folder (default: runs/TASK-ATTENTION-PRESET-sSEED, with what differs from the "
            "defaults in front of -sSEED; with several seeds -sSEED is added)",
            {.value = kFolderValue});
  AddOption(command, "--seeds", &seeds_,
            "Seeds, e.g. 0, 0-4 or 0-2,7 (default: the configuration's)");
  AddSwitch(command, "--resume", &resume_,
            "Go on from the latest checkpoint; a finished run is left as it is. With --out RUN and "
            "no settings, by the run's configuration and on its data; flags such as --device are "
            "given again");
  AddOption(command, "--from", &from_,
            "Start a new run from the weights of a checkpoint, a run (its selected checkpoint or, "
            "while unfinished, its latest) or a weights file, with a fresh optimiser; train.steps, "
            "data, schedule and dropout may differ, the model may not",
            {.value = kRunValue});
  AddOption(command, "--init-from", &init_from_,
            "Start a new run from the encoder of a checkpoint, a run or a weights file, under a "
            "fresh head: for another task that reads the same ids, or another attention; "
            "'RUN-s{seed}' names one for each seed",
            {.value = kRunValue});
  AddDevice(command, &device_);
  AddOption(command, "--graphs", &graphs_,
            "Whether a device repeats the work of a step as a CUDA graph (auto: where it can)",
            {.shows_default = true, .value = kGraphsValue});
  AddOption(command, "--at-once", &at_once_,
            "Seeds that train side by side in this process, a step of each in turn: small models "
            "fill a GPU together",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddThreads(command, &threads_,
             ", or with lists 1 a run. The last digits of a result depend on it");
  AddKernels(command, &context->kernels);
  AddOption(command, "--checkpoint-every", &checkpoint_every_,
            "Steps between extra checkpoints, beside the one at every validation; 0 = none",
            kCount);
  AddOption(command, "--checkpoint-minutes", &checkpoint_minutes_,
            "A checkpoint is also made once so many minutes have passed without one; 0 = never. "
            "SIGUSR1 asks for one at once",
            kCount);
  AddOption(command, "--keep-checkpoints", &keep_checkpoints_,
            "Newest checkpoints that stay, beside the best one",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddSwitch(command, "--no-last", &no_last_,
            "At the end score the selected checkpoint only, not the last one as well");
  AddHalfLogits(command, &half_logits_);
  AddSwitch(command, "--exact-reduction", &exact_reduction_,
            "Add gradients so that 1 to 8 processes (started by torchrun or srun) give the same "
            "bits; costs some speed");
  AddOption(command, "--micro-batch", &micro_batch_,
            "Examples in one forward pass; 0 = as many as the memory budget bears", kCount);
  AddBytes(command, "--memory-budget", &memory_budget_bytes_,
           "Memory that a step may take beyond the weights, e.g. 800MB or 4GB (default: 80 % "
           "of what is free); a batch that needs more goes through in parts");
}

TrainChoice TrainFlags::Choice(const CommandContext& context) const {
  TrainChoice choice;
  choice.experiment = experiment_;
  choice.seeds = seeds_;
  choice.resume = resume_;
  choice.from = from_;
  choice.init_from = init_from_;
  choice.skips_last_checkpoint = no_last_;
  choice.half_logits = half_logits_;
  choice.exact_reduction = exact_reduction_;
  choice.graphs = graphs_;
  choice.command_line = context.command_line;
  RuntimeConfig& runtime = choice.runtime;
  runtime.set_data_dir(data_dir_);
  runtime.set_out_dir(out_dir_);
  runtime.set_threads(threads_);
  runtime.set_device(device_);
  runtime.set_kernels(context.kernels);
  runtime.set_checkpoint_every_steps(checkpoint_every_);
  runtime.set_checkpoint_every_minutes(checkpoint_minutes_);
  runtime.set_keep_checkpoints(keep_checkpoints_);
  runtime.set_micro_batch_examples(micro_batch_);
  runtime.set_memory_budget_bytes(static_cast<int64_t>(memory_budget_bytes_));
  runtime.set_quiet(context.quiet);
  return choice;
}

bool TrainFlags::is_list() const {
  return absl::StrContains(experiment_.task, ',') || absl::StrContains(experiment_.attention, ',');
}

std::vector<std::string> TrainFlags::PassedOn(const CommandContext& context) const {
  std::vector<std::string> words;
  const TrainFlags unset;
  const auto add = [&](const char* flag, const auto& value, const auto& default_value) {
    if (value != default_value) words.insert(words.end(), {flag, absl::StrCat(value)});
  };
  add("--data", data_dir_, unset.data_dir_);
  add("--from", from_, unset.from_);
  add("--device", device_, unset.device_);
  add("--graphs", graphs_, unset.graphs_);
  add("--kernels", context.kernels, std::string());
  add("--checkpoint-every", checkpoint_every_, unset.checkpoint_every_);
  add("--checkpoint-minutes", checkpoint_minutes_, unset.checkpoint_minutes_);
  add("--keep-checkpoints", keep_checkpoints_, unset.keep_checkpoints_);
  add("--micro-batch", micro_batch_, unset.micro_batch_);
  add("--memory-budget", memory_budget_bytes_, unset.memory_budget_bytes_);
  if (no_last_) words.push_back("--no-last");
  if (half_logits_) words.push_back("--half-logits");
  if (exact_reduction_) words.push_back("--exact-reduction");
  return words;
}

}  // namespace lra
