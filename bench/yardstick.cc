#include "bench/yardstick.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/excerpt.h"
#include "lra/files.h"

namespace lra {
namespace {

// Asks for what ForceKernelPath() asks of our own libraries.
void HoldToInstructions(const std::string& kernels, ChildCommand* command) {
  if (kernels == "avx512")
    command->environment.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16");
  const bool is_avx2 = kernels == "avx2";
  if (!is_avx2 && kernels != "baseline") return;
  auto& environment = command->environment;
  environment.emplace_back("ATEN_CPU_CAPABILITY", is_avx2 ? "avx2" : "default");
  environment.emplace_back("MKL_ENABLE_INSTRUCTIONS", is_avx2 ? "AVX2" : "SSE4_2");
  environment.emplace_back("ONEDNN_MAX_CPU_ISA", is_avx2 ? "AVX2" : "SSE41");
}

std::string Script() { return JoinPath(ConfigDirectory(), "../benchmarks/step/eager_step.py"); }

}  // namespace

bool YardstickKnows(const BenchRequest& request) {
  const std::string& name = request.attention();
  return (name == "transformer" || name == "linear" || name == "cosformer" ||
          (name == "s4d" && !request.causal())) &&
         request.options_size() == 0 && request.device() != "fake" &&
         request.mode() == BenchRequest::TRAINING &&
         (request.weight_dropout() == 0 || name == "transformer");
}

bool FlaKnows(const BenchRequest& request) {
  return YardstickKnows(request) && request.attention() == "linear" && request.causal() &&
         !request.device().empty();
}

ChildCommand YardstickCommand(const Yardstick& yardstick, const BenchRequest& request) {
  const std::string kind = request.attention() == "transformer" ? "softmax" : request.attention();
  ChildCommand command = {{yardstick.python, Script(), kind, absl::StrCat(request.tokens()),
                           absl::StrCat(request.batch())},
                          {}};
  const auto set = [&](const char* name, auto value) {
    command.environment.emplace_back(name, absl::StrCat(value));
  };
  set("T", request.threads());
  set("L", request.layers());
  set("E", request.heads() * request.head_width());
  set("HD", request.head_width());
  set("M", request.mlp_width());
  set("S", request.passes());
  set("DROPOUT", request.dropout());
  set("WEIGHT_DROPOUT", request.weight_dropout());
  set("PADDED", request.padded() ? 1 : 0);
  set("BF16", request.precision() == NumericsConfig::BF16 ? 1 : 0);
  set("DEVICE", request.device().empty() ? "cpu" : request.device());
  set("TF32", request.precision() == NumericsConfig::TF32 ? 1 : 0);
  set("COMPILE", yardstick.is_compiled ? 1 : 0);
  set("CAUSAL", request.causal() ? 1 : 0);
  set("FLA", yardstick.uses_fla ? 1 : 0);
  HoldToInstructions(request.kernels(), &command);
  return command;
}

absl::Status ParseYardstickLine(const std::string& line, BenchResult* result) {
  const size_t colon = line.find(": ");
  double milliseconds = 0, kilotokens = 0, gigabytes = 0;
  if (colon == std::string::npos ||
      std::sscanf(line.c_str() + colon, ": %lf ms a step, %lf ktokens/s, peak %lf GB",
                  &milliseconds, &kilotokens, &gigabytes) != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", line, "\" is not what eager_step.py prints: ",
                     "softmax N=.. B=..: .. ms a step, .. ktokens/s, peak .. GB"));
  }
  result->set_outcome(BenchResult::MEASURED);
  result->mutable_passes()->add_seconds(milliseconds / 1e3);
  result->set_resident_bytes(static_cast<int64_t>(gigabytes * 1e9));
  return absl::OkStatus();
}

BenchResult RunYardstick(const Yardstick& yardstick, const BenchRequest& request) {
  BenchResult result;
  result.set_outcome(BenchResult::FAILED);
  const absl::StatusOr<ChildOutcome> child = RunChild(YardstickCommand(yardstick, request));
  if (!child.ok()) {
    result.set_reason(std::string(child.status().message()));
  } else if (child->signal != 0) {
    result.set_reason(absl::StrCat("it ended by signal ", child->signal));
  } else if (child->exit_code != 0) {
    result.set_reason(LastLine(child->errors));
  } else if (const auto parsed = ParseYardstickLine(LastLine(child->output), &result);
             !parsed.ok()) {
    result.set_reason(std::string(parsed.message()));
  }
  return result;
}

absl::Status CheckPython(const std::string& python) {
  const absl::StatusOr<ChildOutcome> child =
      RunChild({{python, "-c", "import torch; print(torch.__version__)"}, {}});
  if (!child.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--against: ", child.status().message(),
                     "; name a Python that has torch, e.g. /path/to/env/bin/python"));
  }
  if (child->exit_code == 0 && child->signal == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--against ", python, ": it cannot import torch (", LastLine(child->errors),
                   "); in an environment of its own: pip install torch"));
}

bool HasFla(const std::string& python) {
  const absl::StatusOr<ChildOutcome> child = RunChild({{python, Script(), "has-fla"}, {}});
  return child.ok() && child->exit_code == 0 && child->signal == 0;
}

}  // namespace lra
