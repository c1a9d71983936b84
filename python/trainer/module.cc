// The extension module lra._trainer: `lra train` in a process of Python, with LibTorch. torch and
// lra._lra are imported before it.
#include <ATen/Parallel.h>
#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "eval/metric.h"
#include "eval/score_text.h"
#include "google/protobuf/util/json_util.h"
#include "lra/json_text.h"
#include "lra/python_attention.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "python/bindings.h"
#include "python/trainer/python_attention.h"
#include "python/trainer/signals.h"
#include "train/request.h"
#include "train/trainer.h"

namespace lra {
namespace {

namespace nb = nanobind;

// What set the fields of an attention that was handed in, in ConfigBuilder's words: tables name
// what was set by hand, and this was not.
constexpr char kOrigin[] = "attention python";

// Puts the attention in Python in the place of the configuration's.
void PutInPlace(const PythonOptions& options, ResolvedConfig* resolved) {
  AttentionConfig& attention = *resolved->config.mutable_attention();
  attention.set_name(kPythonAttention);
  attention.mutable_options()->PackFrom(options);
  std::erase_if(resolved->provenance, [](const auto& origin) {
    return absl::StartsWith(origin.first, "attention.options");
  });
  for (const char* field : {"name", "options.name", "options.function", "options.source_sha256"})
    resolved->provenance[absl::StrCat("attention.", field)] = kOrigin;
}

absl::StatusOr<std::string> TrainOne(const TrainChoice& choice, ResolvedConfig resolved) {
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests,
                       MakeTrainRequests(choice, std::move(resolved)));
  const TrainRequest& request = requests.front();
  const RuntimeConfig& runtime = request.runtime;
  LRA_RETURN_IF_ERROR(CheckRunDirectory(request));
  const int threads = at::get_num_threads();
  const absl::Cleanup restore = [threads] { at::set_num_threads(threads); };
  LRA_RETURN_IF_ERROR(StartRuntime(runtime.threads(), ""));
  LRA_ASSIGN_OR_RETURN(const RunRecord record, TrainRun(request));
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
  nlohmann::ordered_json json;
  AddRun(*metric, record, runtime.out_dir(), &json);
  return JsonText(json, -1);
}

// PyTorch leaves an exception of a backward pass to Python, beside the error that C++ sees. The
// mixer keeps it, as it keeps those of its own calls.
void KeepLeftException(const nb::object& mixer) {
  if (PyErr_Occurred() == nullptr) return;
  const nb::python_error left;
  if (!mixer.is_none()) mixer.attr("error") = left.value();
}

// Trains one run; what `lra train --json` prints of it. `mixer` may be None.
std::string Train(ResolvedConfig resolved, const nb::object& mixer, const TrainChoice& choice,
                  bool listens) {
  std::optional<MixerScope> scope;
  if (!mixer.is_none()) {
    scope.emplace(mixer);
    PutInPlace(OptionsOfMixer(mixer), &resolved);
  }
  absl::StatusOr<std::string> json;
  {
    const nb::gil_scoped_release others;
    std::optional<SignalScope> signals;
    if (listens) signals.emplace();
    json = TrainOne(choice, std::move(resolved));
  }
  KeepLeftException(mixer);
  return ValueOrThrow(std::move(json));
}

}  // namespace
}  // namespace lra

NB_MODULE(_trainer, module) {
  namespace nb = nanobind;
  using lra::TrainChoice;
  module.doc() = "`lra train` in this process. Use lra.train.";
  lra::BindErrors(module);
  nb::class_<TrainChoice>(module, "Choice")
      .def(nb::init<>())
      .def_rw("seeds", &TrainChoice::seeds)
      .def_rw("resume", &TrainChoice::resume)
      .def_rw("start", &TrainChoice::from)
      .def_rw("init_from", &TrainChoice::init_from)
      .def_rw("graphs", &TrainChoice::graphs)
      .def_rw("command_line", &TrainChoice::command_line)
      .def(
          "set_runtime",
          [](TrainChoice& choice, const std::string& json) {
            const auto status = google::protobuf::util::JsonStringToMessage(json, &choice.runtime);
            if (!status.ok()) throw nb::value_error(status.ToString().c_str());
          },
          nb::arg("json"));
  module.def("train", &lra::Train, nb::arg("config"), nb::arg("mixer").none(), nb::arg("choice"),
             nb::arg("listens"));
  module.def("stopped_by", &lra::SignalScope::StoppedBy);
}
