// Configurations and views.
#include "lra/config.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <vector>

#include "lra/experiment.h"
#include "lra/fingerprint.h"
#include "lra/textproto.h"
#include "python/bindings.h"

namespace lra {
namespace {

namespace nb = nanobind;
using Strings = std::vector<std::string>;

ResolvedConfig Resolve(const std::string& task, const std::string& attention,
                       const std::string& protocol, const std::string& preset,
                       const std::string& run_file, const Strings& sets) {
  return ValueOrThrow(ResolveExperiment({.task = task,
                                         .attention = attention,
                                         .protocol = protocol,
                                         .preset = preset,
                                         .run_file = run_file,
                                         .sets = sets}));
}

// Field by dotted path: the protocol's value, which the configuration departs from.
std::map<std::string, std::string> ChangedRules(const ResolvedConfig& resolved) {
  std::map<std::string, std::string> rules;
  for (const ChangedRule& rule : resolved.changed_rules) rules[rule.path()] = rule.protocol_value();
  return rules;
}

void SetState(DataView* view, const nb::bytes& state) {
  new (view) DataView();
  if (!view->ParseFromArray(state.c_str(), static_cast<int>(state.size())))
    throw nb::value_error("these bytes are no view");
}

}  // namespace

void BindConfig(nb::module_& module) {
  nb::class_<DataView>(module, "View")
      .def_static(
          "load",
          [](const std::string& task, const std::string& protocol, const std::string& preset,
             const Strings& sets) { return ValueOrThrow(LoadView(task, protocol, preset, sets)); },
          nb::arg("task"), nb::arg("protocol"), nb::arg("preset"), nb::arg("sets"))
      .def("json", [](const DataView& view) { return ToJson(view); })
      .def("fingerprint", [](const DataView& view) { return Fingerprint(view); })
      .def("__getstate__",
           [](const DataView& view) {
             const std::string bytes = view.SerializeAsString();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__", [](DataView& view, const nb::bytes& state) { SetState(&view, state); });
  nb::class_<ResolvedConfig>(module, "Config")
      .def_static("resolve", &Resolve, nb::arg("task"), nb::arg("attention"), nb::arg("protocol"),
                  nb::arg("preset"), nb::arg("run_file"), nb::arg("sets"))
      .def("json", [](const ResolvedConfig& resolved) { return ToJson(resolved.config); })
      .def("leaves", [](const ResolvedConfig& resolved) { return LeafFields(resolved.config); })
      .def("name", [](const ResolvedConfig& resolved) { return ExperimentName(resolved.config); })
      .def("view", [](const ResolvedConfig& resolved) { return resolved.config.view(); })
      .def("fingerprint",
           [](const ResolvedConfig& resolved) { return Fingerprint(resolved.config); })
      .def("cell_fingerprint",
           [](const ResolvedConfig& resolved) { return CellFingerprint(resolved.config); })
      .def("changed_rules", &ChangedRules)
      .def_ro("provenance", &ResolvedConfig::provenance)
      .def_ro("warnings", &ResolvedConfig::warnings);
  module.def(
      "config_names", [](const std::string& kind) { return ConfigNames(kind); }, nb::arg("kind"));
}

}  // namespace lra
