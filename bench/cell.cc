#include "bench/cell.h"

#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"
#include "lra/child.h"
#include "lra/excerpt.h"
#include "lra/progress.h"

namespace lra {
namespace {

BenchResult Failure(BenchResult::Outcome outcome, const std::string& reason) {
  BenchResult result;
  result.set_outcome(outcome);
  result.set_reason(reason);
  return result;
}

BenchResult ResultOf(const ChildOutcome& child) {
  if (child.signal == SIGKILL)
    return Failure(BenchResult::OUT_OF_MEMORY, "the system ended the process");
  if (child.signal != 0) {
    return Failure(BenchResult::FAILED, absl::StrCat("the process ended by signal ", child.signal));
  }
  if (child.exit_code != 0) return Failure(BenchResult::FAILED, LastLine(child.errors));
  BenchResult result;
  const absl::Status parsed =
      FromJsonLine(LastLine(child.output), "the measuring process", &result);
  return parsed.ok() ? result : Failure(BenchResult::FAILED, std::string(parsed.message()));
}

}  // namespace

CellRunner ChildRunner(const std::string& program) {
  return [program](const BenchRequest& request) {
    const auto child = RunChild({{program, "bench", "cell", ToJsonLine(request)}, {}});
    if (!child.ok()) return Failure(BenchResult::FAILED, std::string(child.status().message()));
    return ResultOf(*child);
  };
}

absl::StatusOr<BenchMachine> MeasureMachine(const CellRunner& run, int threads,
                                            const std::string& kernels) {
  BenchRequest request;
  request.set_scope(BenchRequest::MACHINE);
  request.set_threads(threads);
  request.set_kernels(kernels);
  const BenchResult result = run(request);
  if (result.outcome() == BenchResult::MEASURED) return result.machine();
  const std::string reason = absl::StrCat("the machine cannot be measured: ", result.reason());
  return result.outcome() == BenchResult::REFUSED ? absl::InvalidArgumentError(result.reason())
                                                  : absl::InternalError(reason);
}

std::string ToJsonLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

absl::Status FromJsonLine(absl::string_view line, absl::string_view where,
                          google::protobuf::Message* message) {
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(where, ": not a ", message->GetTypeName(),
                                                 " in JSON: ", std::string(parsed.message())));
}

std::string MethodLabel(const BenchRequest& request) {
  std::string label = request.block().empty() ? request.attention() : request.block();
  if (request.options_size() > 0)
    absl::StrAppend(&label, " (", absl::StrJoin(request.options(), ", "), ")");
  return request.causal() ? label + ", causal" : label;
}

double MedianSeconds(const BenchPasses& passes) {
  return MedianOf({passes.seconds().begin(), passes.seconds().end()});
}

std::string DescribeBenchMachine(const BenchMachine& machine) {
  return absl::StrFormat(
      "%s, %d cores, %s; %d threads, %s kernels (LibTorch: %s); matrix product %.0f GFLOP/s "
      "(bfloat16 %.0f), copy %.1f GB/s; LibTorch %s, lra %s, %s",
      machine.machine().cpu(), machine.machine().cores(),
      FormatBytes(machine.machine().memory_bytes()), machine.threads(), machine.machine().kernels(),
      machine.machine().cpu_capability(), machine.gemm_operations_per_second() / 1e9,
      machine.gemm_bfloat16_operations_per_second() / 1e9, machine.copy_bytes_per_second() / 1e9,
      machine.versions().libtorch(),
      machine.versions().commit().empty() ? machine.versions().lra() : machine.versions().commit(),
      machine.build());
}

}  // namespace lra
