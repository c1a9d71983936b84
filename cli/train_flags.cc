#include "cli/train_flags.h"

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "train/seeds.h"

namespace lra {

void TrainFlags::Add(CLI::App* command) {
  experiment_.Add(command);
  command->add_option("--data", data_dir_, "Prepared data (default: $LRA_DATA/TASK, ./data/TASK)");
  command->add_option(
      "--out", out_dir_,
      "Run folder (default: runs/TASK-ATTENTION-PRESET-sSEED; with several seeds -sSEED is added)");
  command->add_option("--seeds", seeds_,
                      "Seeds, e.g. 0, 0-4 or 0-2,7 (default: the configuration's)");
  command->add_flag("--resume", resume_,
                    "Go on from the latest checkpoint; a finished run is left as it is");
  command->add_option("--device", device_, "cpu, cuda or cuda:NUMBER")->capture_default_str();
  const auto add_count = [&](const char* name, int* value, const char* text) {
    command->add_option(name, *value, text)->check(CLI::NonNegativeNumber);
  };
  add_count("--threads", &threads_,
            "Threads; 0 = all cores. The last digits of a result depend on it");
  add_count("--checkpoint-every", &checkpoint_every_,
            "Steps between extra checkpoints (one is made at every validation)");
  command
      ->add_option("--checkpoint-minutes", checkpoint_minutes_,
                   "Minutes between extra checkpoints; SIGUSR1 asks for one at once")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--keep-checkpoints", keep_checkpoints_,
                   "Newest checkpoints that stay, beside the best one")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_count("--micro-batch", &micro_batch_,
            "Examples in one forward pass; 0 = as many as the memory budget bears");
  command
      ->add_option(
          "--memory-budget", memory_budget_bytes_,
          "Memory that a step may take beyond the weights, e.g. 800MB or 4GB (default: 80 % "
          "of what is free); a batch that needs more goes through in parts")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
}

TrainRequest TrainFlags::MakeRequest(const ResolvedConfig& resolved, uint32_t seed, bool several,
                                     const CommandContext& context) const {
  TrainRequest request;
  request.resolved = resolved;
  request.resolved.config.set_seed(seed);
  if (!seeds_.empty()) request.resolved.provenance["seed"] = "--seeds";
  request.resume = resume_;
  request.command_line = context.command_line;
  RuntimeConfig& runtime = request.runtime;
  runtime.set_threads(threads_);
  runtime.set_device(device_);
  runtime.set_checkpoint_every_steps(checkpoint_every_);
  runtime.set_checkpoint_every_minutes(checkpoint_minutes_);
  runtime.set_keep_checkpoints(keep_checkpoints_);
  runtime.set_micro_batch_examples(micro_batch_);
  runtime.set_memory_budget_bytes(static_cast<int64_t>(memory_budget_bytes_));
  runtime.set_quiet(context.quiet);
  const ExperimentConfig& config = request.resolved.config;
  runtime.set_data_dir(data_dir_.empty() ? DefaultDataDirectory(config.task()) : data_dir_);
  runtime.set_out_dir(out_dir_.empty() ? DefaultRunDirectory(config)
                      : several        ? absl::StrCat(out_dir_, "-s", seed)
                                       : out_dir_);
  return request;
}

absl::StatusOr<std::vector<TrainRequest>> TrainFlags::Requests(
    const CommandContext& context) const {
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, experiment_.Resolve());
  std::vector<uint32_t> seeds = {resolved.config.seed()};
  if (!seeds_.empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(seeds_));
  }
  std::vector<TrainRequest> requests;
  for (uint32_t seed : seeds) {
    requests.push_back(MakeRequest(resolved, seed, seeds.size() > 1, context));
  }
  return requests;
}

}  // namespace lra
