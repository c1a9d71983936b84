#include "bench/step_comparison.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bench/yardstick.h"
#include "lra/child.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

bool WasMeasured(const BenchResult& result) { return result.outcome() == BenchResult::MEASURED; }

std::string LabelOf(const BenchRequest& request, const std::string& suffix) {
  std::string label = MethodLabel(request);
  if (!request.kernels().empty()) absl::StrAppend(&label, ", ", request.kernels());
  return absl::StrCat(label, suffix);
}

// The rows of one method with one path: PyTorch's where there are any, another build's, ours.
void AddContenders(const StepPlan& plan, const std::string& program, const BenchRequest& request,
                   std::vector<Contender>* contenders) {
  std::string reference;
  if (!plan.python.empty() && YardstickKnows(request)) {
    reference = LabelOf(request, ", eager PyTorch");
    contenders->push_back({reference, "", [plan, request] {
                             return RunYardstick({plan.python, false}, request);
                           }});
    if (plan.compiles) {
      contenders->push_back({LabelOf(request, ", torch.compile"), reference, [plan, request] {
                               return RunYardstick({plan.python, true}, request);
                             }});
    }
    if (plan.has_fla && FlaKnows(request)) {
      contenders->push_back(
          {LabelOf(request, ", flash-linear-attention"), reference, [plan, request] {
             return RunYardstick({plan.python, false, true}, request);
           }});
    }
  }
  if (!plan.other.empty()) {
    const CellRunner other = ChildRunner(plan.other);
    const std::string label = LabelOf(request, ", other build");
    contenders->push_back({label, reference, [other, request] { return other(request); }});
    if (reference.empty()) reference = label;
  }
  const CellRunner run = ChildRunner(program);
  contenders->push_back({LabelOf(request, ""), reference, [run, request] { return run(request); }});
  if (plan.repeats) {
    BenchRequest repeated = request;
    repeated.set_repeats(true);
    contenders->push_back(
        {LabelOf(request, ", as a graph"), reference, [run, repeated] { return run(repeated); }});
  }
}

std::vector<BenchRequest> Requests(const StepPlan& plan) {
  std::vector<BenchRequest> requests;
  for (const MethodChoice& method : plan.methods) {
    for (const std::string& kernels : plan.kernels) {
      BenchRequest request = plan.base;
      SetMethod(method, &request);
      request.set_kernels(kernels);
      requests.push_back(request);
    }
  }
  return requests;
}

void Report(const Contender& contender, int repetition, const BenchResult& result) {
  if (WasMeasured(result)) {
    std::fprintf(stderr, "%s, repetition %d: %.1f ms\n", contender.label.c_str(), repetition + 1,
                 MedianSeconds(result.passes()) * 1e3);
  } else {
    std::fprintf(stderr, "%s: %s\n", contender.label.c_str(), result.reason().c_str());
  }
}

std::vector<Contender> ProfiledContenders(const StepPlan& plan, const std::string& program) {
  std::vector<Contender> contenders;
  for (BenchRequest request : Requests(plan)) {
    // On the CPU the pieces of a block are its own.
    if (!request.block().empty() && request.device().empty()) continue;
    request.set_profiles(true);
    const CellRunner run = ChildRunner(program);
    contenders.push_back({LabelOf(request, ""), "", [run, request] { return run(request); }});
  }
  return contenders;
}

absl::Status CheckOtherBuild(const std::string& program) {
  const absl::StatusOr<ChildOutcome> child = RunChild({{program, "--version"}, {}});
  if (child.ok() && child->exit_code == 0 && child->signal == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--beside ", program, ": ",
                   child.ok() ? "it does not say its --version" : child.status().message(),
                   "; name the program of another build, e.g. old/lra"));
}

}  // namespace

std::vector<Contender> StepContenders(const StepPlan& plan, const std::string& program) {
  std::vector<Contender> contenders;
  for (const BenchRequest& request : Requests(plan))
    AddContenders(plan, program, request, &contenders);
  return contenders;
}

std::vector<Contest> Interleave(
    const std::vector<Contender>& contenders, int repetitions,
    const std::function<void(const Contender&, int, const BenchResult&)>& report) {
  std::vector<Contest> contests;
  for (const Contender& contender : contenders)
    contests.push_back({contender.label, contender.reference, {}});
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      std::vector<BenchResult>& results = contests[i].results;
      if (!results.empty() && !WasMeasured(results.back())) continue;
      results.push_back(contenders[i].measure());
      report(contenders[i], repetition, results.back());
    }
  }
  return contests;
}

MedianInterval SecondsOfContest(const Contest& contest) {
  std::vector<double> seconds;
  for (const BenchResult& result : contest.results) {
    if (WasMeasured(result)) seconds.push_back(MedianSeconds(result.passes()));
  }
  return seconds.empty() ? MedianInterval() : IntervalOfMedian(seconds);
}

std::optional<MedianInterval> RatioOfContests(const Contest& contest, const Contest& reference) {
  std::vector<double> ratios;
  const size_t shared = std::min(contest.results.size(), reference.results.size());
  for (size_t i = 0; i < shared; ++i) {
    if (WasMeasured(contest.results[i]) && WasMeasured(reference.results[i])) {
      ratios.push_back(MedianSeconds(contest.results[i].passes()) /
                       MedianSeconds(reference.results[i].passes()));
    }
  }
  if (ratios.empty()) return std::nullopt;
  return IntervalOfMedian(ratios);
}

absl::StatusOr<StepComparison> CompareSteps(StepPlan plan, const std::string& program) {
  if (!plan.python.empty()) {
    LRA_RETURN_IF_ERROR(CheckPython(plan.python));
    plan.has_fla = HasFla(plan.python);
  }
  if (!plan.other.empty()) LRA_RETURN_IF_ERROR(CheckOtherBuild(plan.other));
  StepComparison comparison;
  comparison.base = plan.base;
  // A path that the machine lacks is refused here, before anything is measured.
  for (const std::string& kernels : plan.kernels) {
    LRA_ASSIGN_OR_RETURN(comparison.machine,
                         MeasureMachine(ChildRunner(program), plan.base.threads(), kernels));
  }
  const auto report = [&](const Contender& contender, int repetition, const BenchResult& result) {
    if (!plan.is_quiet) Report(contender, repetition, result);
  };
  comparison.contests = Interleave(StepContenders(plan, program), plan.repetitions, report);
  if (plan.profiles) comparison.profiles = Interleave(ProfiledContenders(plan, program), 1, report);
  return comparison;
}

absl::Status CheckMeasured(const StepComparison& comparison) {
  std::string reason;
  bool are_refused = true;
  for (const Contest& contest : comparison.contests) {
    for (const BenchResult& result : contest.results) {
      const bool is_refused = result.outcome() == BenchResult::REFUSED;
      if (!is_refused && result.outcome() != BenchResult::FAILED) return absl::OkStatus();
      are_refused = are_refused && is_refused;
      if (reason.empty()) reason = result.reason();
    }
  }
  return absl::Status(are_refused ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kAborted,
                      absl::StrCat("no step was measured: ", reason));
}

}  // namespace lra
