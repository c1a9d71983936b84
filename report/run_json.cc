#include "report/run_json.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "eval/data_identity.h"
#include "eval/metric.h"
#include "eval/table_writer.h"
#include "lra/config.h"
#include "lra/json_text.h"
#include "report/thin_curve.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

// Fields whose value would say nothing are left out.
template <class T>
void Set(const char* name, const T& value, Json* json) {
  if (value != T()) (*json)[name] = value;
}

Json DataJson(const DataIdentity& data, const std::string& split) {
  Json json = {{"origin", data.origin()},
               {"canonical", CanonicalText(data)},
               {"version", data.task_version()},
               {"view", data.view_fingerprint()}};
  const auto fingerprint = data.split_fingerprint().find(split);
  if (fingerprint != data.split_fingerprint().end()) json["fingerprint"] = fingerprint->second;
  return json;
}

// [path, value, origin] of every set field but the seed, which is the run's own.
Json FieldsJson(const RunRecord& record) {
  Json fields = Json::array();
  for (const auto& [path, value] : LeafFields(record.config())) {
    if (path == "seed") continue;
    const auto origin = record.provenance().find(path);
    fields.push_back({path, value, origin == record.provenance().end() ? "" : origin->second});
  }
  return fields;
}

Json SettingsJson(const RunRecord& record, const std::string& split) {
  Json json = {{"protocol", record.config().protocol()},
               {"preset", record.config().preset()},
               {"fields", FieldsJson(record)},
               {"data", DataJson(record.data(), split)}};
  for (const ChangedRule& rule : record.changed_rule())
    json["changed"].push_back({rule.path(), rule.protocol_value(), rule.value(), rule.origin()});
  return json;
}

Json MachineJson(const Machine& machine, const Versions& versions) {
  Json json = {{"cpu", machine.cpu()},
               {"cores", machine.cores()},
               {"memory_bytes", machine.memory_bytes()},
               {"system", machine.system()},
               {"cpu_capability", machine.cpu_capability()},
               {"kernels", machine.kernels()},
               {"lra", versions.lra()},
               {"commit", versions.commit()},
               {"libtorch", versions.libtorch()},
               {"compiler", versions.compiler()}};
  if (!machine.device().empty()) json["device"] = machine.device();
  return json;
}

Json EfficiencyJson(const Efficiency& efficiency) {
  Json json = Json::object();
  Set("wall_seconds", efficiency.wall_seconds(), &json);
  Set("steps_per_second", efficiency.steps_per_second(), &json);
  Set("tokens_per_second", efficiency.tokens_per_second(), &json);
  Set("peak_memory_bytes", efficiency.peak_memory_bytes(), &json);
  Set("peak_device_memory_bytes", efficiency.peak_device_memory_bytes(), &json);
  Set("threads", efficiency.threads(), &json);
  Set("processes", efficiency.processes(), &json);
  Set("resumes", efficiency.resumes(), &json);
  if (efficiency.has_joules()) json["joules"] = efficiency.joules();
  if (efficiency.has_cpu_seconds()) json["cpu_seconds"] = efficiency.cpu_seconds();
  return json;
}

Json ResultsJson(const RunRecord& record, const Metric& metric) {
  Json results = Json::array();
  for (const SplitResult& result : record.results()) {
    Json json = {{"split", result.split()},
                 {"checkpoint", result.checkpoint()},
                 {"step", result.step()},
                 {"examples", result.examples()},
                 {"value", ShortNumber(metric.Value(result.sums()))},
                 {"evidence", metric.Evidence(result.sums())}};
    Set("split_examples", result.split_examples(), &json);
    results.push_back(std::move(json));
  }
  return results;
}

void AddTraining(const RunRecord& record, const Metric& metric, Json* json) {
  Set("selected_step", record.selected_step(), json);
  Set("selected_validation", record.selected_validation(), json);
  Set("stopped_at_step", record.stopped_at_step(), json);
  Set("steps", record.config().train().steps(), json);
  Set("parameters", record.parameters(), json);
  Set("transformer_parameters", record.transformer_parameters(), json);
  Set("weights", record.weights_sha256(), json);
  for (const Trial& trial : record.trials()) {
    (*json)["trials"].push_back({{"learning_rate", trial.learning_rate()},
                                 {"validation", ShortNumber(trial.validation())},
                                 {"selected", trial.is_selected()}});
  }
  if (record.has_pretrain()) {
    const PretrainResult& pretrain = record.pretrain();
    (*json)["pretrain"] = {{"steps", pretrain.steps()},
                           {"examples", pretrain.examples()},
                           {"first_loss", ShortNumber(pretrain.first_loss())},
                           {"last_loss", ShortNumber(pretrain.last_loss())}};
  }
  if (record.curve_size() > 0) (*json)["curve"] = CurveJson(record, metric);
}

Json FailureJson(const RunFailure& failure) {
  return {{"what", failure.kind() == RunFailure::DIVERGED ? "diverged" : "failed"},
          {"step", failure.step()},
          {"cause", failure.cause()}};
}

}  // namespace

size_t RunCollection::Pool::NumberOf(Json element) {
  const std::string key = JsonText(element, -1);
  const auto [place, is_new] = numbers.emplace(key, elements.size());
  if (is_new) elements.push_back(std::move(element));
  return place->second;
}

void RunCollection::Add(const RunRecord& record, absl::string_view name, absl::string_view link,
                        const Json& extras) {
  Json json = {{"name", std::string(name)},
               {"kind", internal::KindName(record.kind())},
               {"method", record.method()},
               {"task", record.data().task()},
               {"seed", record.seed()}};
  Set("link", std::string(link), &json);
  Set("description", record.description(), &json);
  const auto metric = MetricOf(record.spec(), options_.metric);
  if (metric.ok()) {
    json["results"] = ResultsJson(record, **metric);
    AddTraining(record, **metric, &json);
  }
  const SplitResult* result = FindResult(record, options_.split);
  if (result != nullptr && !result->confusion().empty())
    json["confusion"] =
        std::vector<int64_t>(result->confusion().begin(), result->confusion().end());
  Set("test_looks", record.test_looks_size(), &json);
  for (const std::string& warning : record.warning()) json["warnings"].push_back(warning);
  if (record.has_failure()) json["failure"] = FailureJson(record.failure());
  json["efficiency"] = EfficiencyJson(record.efficiency());
  json["settings"] = settings_.NumberOf(SettingsJson(record, options_.split));
  json["machine"] = machines_.NumberOf(MachineJson(record.machine(), record.versions()));
  for (const TrainingStretch& stretch : record.stretch()) {
    const size_t number = machines_.NumberOf(MachineJson(stretch.machine(), stretch.versions()));
    json["stretches"].push_back({stretch.after_step(), number});
  }
  json.update(extras);
  runs_.push_back(std::move(json));
}

Json RunCollection::ToJson() const {
  return {{"runs", runs_}, {"settings", settings_.elements}, {"machines", machines_.elements}};
}

}  // namespace lra
