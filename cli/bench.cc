// lra bench step | attention | data | generate | efficiency
#include "cli/bench.h"

#include <iostream>
#include <memory>

#include "bench/attention_tables.h"
#include "bench/cell.h"
#include "bench/measure/cases.h"
#include "bench/measure/measure.h"
#include "bench/step_comparison.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "lra/child.h"
#include "lra/files.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr double kMostTokens = 1 << 30;  // of a cell

struct StepFlags {
  std::vector<std::string> attentions = {"transformer", "linear", "cosformer"};
  std::vector<std::string> blocks, kernels;
  std::string size = "small", dtype = "float32", device = "cpu";
  int64_t tokens = 2000, batch = 0, layers = 0;
  double dropout = 0.1, weight_dropout = 0;
  int steps = 6;
  bool is_padded = false, is_forward = false, skips_profile = false;
  StepPlan plan;
  BenchFlags bench;
};

absl::StatusOr<StepPlan> PlanOf(const StepFlags& flags, const CommandContext& context) {
  StepPlan plan = flags.plan;
  LRA_ASSIGN_OR_RETURN(plan.methods, ParseMethods(flags.attentions));
  LRA_ASSIGN_OR_RETURN(const std::vector<MethodChoice> blocks, ParseBlocks(flags.blocks));
  plan.methods.insert(plan.methods.end(), blocks.begin(), blocks.end());
  LRA_ASSIGN_OR_RETURN(plan.base, SizedRequest(flags.size));
  LRA_ASSIGN_OR_RETURN(const NumericsConfig::Precision precision, ParsePrecision(flags.dtype));
  plan.base.set_mode(flags.is_forward ? BenchRequest::FORWARD : BenchRequest::TRAINING);
  plan.base.set_precision(precision);
  if (flags.device != "cpu") plan.base.set_device(flags.device);
  plan.base.set_tokens(flags.tokens);
  if (flags.batch > 0) plan.base.set_batch(flags.batch);
  if (flags.layers > 0) plan.base.set_layers(flags.layers);
  plan.base.set_padded(flags.is_padded);
  plan.base.set_dropout(flags.dropout);
  plan.base.set_weight_dropout(flags.weight_dropout);
  plan.base.set_threads(ResolveThreads(flags.bench.threads));
  plan.base.set_passes(flags.steps);
  plan.base.set_warm_ups(2);
  plan.kernels = SplitAtCommas(flags.kernels);
  if (plan.kernels.empty()) plan.kernels.push_back("");
  plan.profiles = !flags.skips_profile && !flags.is_forward;
  plan.is_quiet = context.quiet;
  if (plan.compiles && plan.python.empty())
    return absl::InvalidArgumentError("--compile: is of the Python that --against names; add it");
  if (!plan.repeats) return plan;
  if (flags.device == "cpu")
    return absl::InvalidArgumentError("--graphs: the CPU has none; say --device cuda");
  if (flags.is_forward)
    return absl::InvalidArgumentError("--graphs: only training steps are repeated, not --forward");
  return plan;
}

absl::Status RunStep(const StepFlags& flags, const CommandContext& context) {
  WaitPatiently(flags.bench.threads);
  LRA_ASSIGN_OR_RETURN(const StepPlan plan, PlanOf(flags, context));
  LRA_ASSIGN_OR_RETURN(const StepComparison comparison, CompareSteps(plan, ThisProgram()));
  LRA_RETURN_IF_ERROR(
      PrintBench(StepTable(comparison), StepJson(comparison), flags.bench, context));
  return CheckMeasured(comparison);
}

struct AttentionFlags {
  std::vector<std::string> only;
  std::string kernels;
  bool is_patient = false;
  AttentionPlan plan;
  BenchFlags bench;
};

absl::Status RunAttention(const AttentionFlags& flags, const CommandContext& context) {
  AttentionPlan plan = flags.plan;
  if (plan.skips_growth && plan.skips_speed) {
    return absl::InvalidArgumentError(
        "--skip-growth and --skip-speed: nothing would be measured; leave one of them out");
  }
  WaitPatiently(flags.bench.threads);
  LRA_ASSIGN_OR_RETURN(const std::vector<MethodChoice> wanted, ParseMethods(flags.only));
  plan.methods = MethodsOf(RegisteredMethods(), wanted);
  plan.threads = ResolveThreads(flags.bench.threads);
  plan.kernels = flags.kernels;
  if (flags.is_patient) plan.cell_seconds = 0;
  plan.is_quiet = context.quiet;
  const CellRunner run = ChildRunner(ThisProgram());
  LRA_ASSIGN_OR_RETURN(const BenchMachine machine, MeasureMachine(run, plan.threads, plan.kernels));
  const AttentionTables tables = MeasureAttentions(plan, machine, run);
  return PrintBench(AttentionText(tables), AttentionJson(tables), flags.bench, context);
}

absl::Status RunCell(const std::string& json) {
  BenchRequest request;
  LRA_RETURN_IF_ERROR(FromJsonLine(json, "the request", &request));
  std::cout << ToJsonLine(MeasureCell(request)) << "\n";
  return absl::OkStatus();
}

// What the others run for each measurement.
void AddBenchCell(CLI::App* group, CommandContext* context) {
  auto request = std::make_shared<std::string>();
  CLI::App* command =
      AddCommand(group, "cell", "One measurement in this process: a request in JSON to its result");
  AddOption(command, "request", request.get(), "A BenchRequest (bench/bench.proto) in JSON",
            {.is_required = true});
  SetBody(command, context, "  lra bench cell '{\"scope\":\"MACHINE\"}'",
          [request] { return RunCell(*request); });
}

// The model that makes the steps.
void AddStepModel(CLI::App* command, StepFlags* flags) {
  AddOption(command, "--attention", &flags->attentions,
            "Attentions, NAME or NAME:OPTION=VALUE, with commas (default: transformer, linear, "
            "cosformer)",
            {.value = kAttentionValue});
  AddOption(command, "--block", &flags->blocks,
            "Blocks that use no attention, as more rows: NAME or NAME:OPTION=VALUE, with commas",
            {.value = kBlockValue});
  AddOption(command, "--tokens", &flags->tokens, "Length N",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 1, .largest = 1 << 20});
  AddOption(command, "--batch", &flags->batch,
            "Examples B (default: 16; 8 of --size released, 4 of official)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--size", &flags->size,
            "small (2 layers of width 64, MLP 128), released (4 of 256, MLP 1,024) or official (6 "
            "of 512, MLP 2,048)",
            {.shows_default = true, .value = "small|released|official"});
  AddOption(command, "--layers", &flags->layers, "Layers instead of the size's",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--dtype", &flags->dtype,
            "float32, or in matrix products bfloat16 or, on CUDA, tf32",
            {.shows_default = true, .value = "float32|bfloat16|tf32"});
  AddDevice(command, &flags->device);
  AddOption(command, "--dropout", &flags->dropout, "Dropout of hidden states",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 0, .largest = 0.95});
  AddOption(command, "--weight-dropout", &flags->weight_dropout, "Dropout of attention weights",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 0, .largest = 0.95});
}

// What is measured of it, and beside what.
void AddStepMeasuring(CLI::App* command, StepFlags* flags) {
  AddSwitch(command, "--graphs", &flags->plan.repeats,
            "On a device: each step as a CUDA graph, too, as training repeats it");
  AddSwitch(command, "--padded", &flags->is_padded, "Lengths fall evenly from N to N / 2");
  AddSwitch(command, "--forward", &flags->is_forward, "The forward pass in evaluation instead");
  AddOption(command, "--steps", &flags->steps, "Timed steps a repetition, after two others",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--repetitions", &flags->plan.repetitions,
            "Times that everything is measured, in turn",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--kernels", &flags->kernels,
            "generic, baseline, avx2, avx512, amx, with commas: a row for each (default: "
            "$LRA_KERNELS, or the best of this machine)",
            {.value = kKernelsValue});
  AddOption(command, "--against", &flags->plan.python,
            "A Python with torch: the same model in eager PyTorch (transformer, linear, "
            "cosformer); on a GPU, linear:causal by flash-linear-attention, too, where it has that",
            {.value = kFileValue});
  AddSwitch(command, "--compile", &flags->plan.compiles, "With --against: torch.compile, too");
  AddOption(command, "--beside", &flags->plan.other, "Another build of lra to compare with",
            {.value = kFileValue});
  AddSwitch(command, "--no-profile", &flags->skips_profile,
            "Leave out where a step's time goes: its pieces on the CPU, its kernels on a device");
}

}  // namespace

void AddBenchFlags(CLI::App* command, BenchFlags* flags) {
  AddThreads(command, &flags->threads);
  AddOption(command, "--out", &flags->out, "Write the result as JSON to this file, too",
            {.value = kFileValue});
}

absl::Status PrintBench(const std::string& text, const std::string& json, const BenchFlags& flags,
                        const CommandContext& context) {
  std::cout << (context.json ? json : text);
  return flags.out.empty() ? absl::OkStatus() : WriteFileAtomically(flags.out, json);
}

void AddBenchStep(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<StepFlags>();
  CLI::App* command =
      AddCommand(group, "step", "A training step: time, memory, where it goes, beside PyTorch");
  AddStepModel(command, flags.get());
  AddStepMeasuring(command, flags.get());
  AddBenchFlags(command, &flags->bench);
  SetBody(command, context,
          "  lra bench step\n"
          "  lra bench step --attention softmax,linear --against env/bin/python --compile\n"
          "  lra bench step --attention linear --block dilated_convolution --tokens 1024\n"
          "  lra bench step --size official --kernels avx2,avx512 --dtype bfloat16\n"
          "  lra bench step --size official --device cuda --graphs --dtype tf32 --against "
          "env/bin/python --compile\n"
          "  lra bench step --beside old/lra --repetitions 5 --no-profile --json",
          [flags, context] { return RunStep(*flags, *context); });
}

void AddBenchAttention(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<AttentionFlags>();
  AttentionPlan& plan = flags->plan;
  CLI::App* command = AddCommand(
      group, "attention",
      "Every attention: growth of time and memory, and speed beside a composition of LibTorch's "
      "operations");
  AddOption(command, "--only", &flags->only, "Attentions, with commas (default: all)",
            {.value = kAttentionValue});
  AddOption(command, "--max-tokens", &plan.max_tokens, "Longest sequence of the growth tables",
            {.shows_default = true,
             .allowed = FlagRules::kRange,
             .least = kFirstGrowthTokens,
             .largest = kMostTokens});
  AddOption(command, "--speed-tokens", &plan.speed_tokens,
            "Tokens of a cell that is measured beside a composition, N = 1,024 or 4,096",
            {.shows_default = true,
             .allowed = FlagRules::kRange,
             .least = kLongestSpeedTokens,
             .largest = kMostTokens});
  AddOption(command, "--cell-seconds", &plan.cell_seconds,
            "Seconds that one cell, a measurement, may take",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddSwitch(command, "--patient", &flags->is_patient, "Leave no cell out for the time it takes");
  AddOption(command, "--repetitions", &plan.repetitions, "Passes of a cell",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddSwitch(command, "--skip-growth", &plan.skips_growth, "Leave the tables of growth out");
  AddSwitch(command, "--skip-speed", &plan.skips_speed, "Leave the compositions out");
  AddKernels(command, &flags->kernels);
  AddBenchFlags(command, &flags->bench);
  SetBody(command, context,
          "  lra bench attention --only linear,cosformer --max-tokens 16384\n"
          "  lra bench attention --patient --json > attention.json",
          [flags, context] { return RunAttention(*flags, *context); });
}

void AddBenchCommand(CLI::App* app, CommandContext* context) {
  CLI::App* group = AddGroup(
      app, "bench", "Time and memory of steps, attentions, data and streams on this machine",
      "  lra bench step --attention linear --against env/bin/python\n"
      "  lra bench attention --only transformer,linear\n"
      "  lra bench data --task listops --attention linear --preset small\n"
      "  lra bench generate --attention transformer,linear --tokens 512..8192\n"
      "  lra bench efficiency --attention transformer,cosformer --records cells.jsonl");
  AddBenchStep(group, context);
  AddBenchAttention(group, context);
  AddBenchData(group, context);
  AddBenchGenerate(group, context);
  AddBenchEfficiency(group, context);
  AddBenchCell(group, context);
}

}  // namespace lra
