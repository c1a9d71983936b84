#include "inspect/export_model.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/view.h"
#include "inspect/exported_files.h"
#include "inspect/open_checkpoint.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/python_attention.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "models/encoder/sequences.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_files.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

absl::Status CheckName(absl::string_view kind, const std::string& name) {
  const std::vector<std::string> names = ExportedNames(kind);
  if (std::find(names.begin(), names.end(), name) != names.end()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(kind, ".name: is \"", name,
                                               "\", which the PyTorch file does not have; it has ",
                                               absl::StrJoin(names, ", ")));
}

// The message as JSON, its options without the name of their type; an empty object where there are
// none.
Json PartJson(const google::protobuf::Message& part) {
  Json json = Json::parse(ToJson(part));
  if (!json.contains("options")) json["options"] = Json::object();
  json["options"].erase("@type");
  return json;
}

Json TaskJson(const TaskSpec& spec) {
  Json json = {{"name", spec.name()},
               {"version", spec.version()},
               {"vocabulary_size", spec.vocabulary_size()},
               {"classes", spec.classes()},
               {"is_pair", spec.is_pair()},
               {"is_real", spec.is_real()},
               {"zero_is_token", spec.zero_is_token()},
               {"image_side_pixels", spec.image_side_pixels()},
               {"token_names", Json::array()}};
  for (const std::string& name : spec.token_names()) json["token_names"].push_back(name);
  return json;
}

// What every batch is padded to; 0 = its longest example. Images are never padded.
int64_t PadToTokens(const DataView& view, const TaskSpec& spec) {
  const bool is_fixed =
      view.pad_to() == DataView::MAX_LENGTH || view.pad_to() == DataView::POWER_OF_TWO;
  return is_fixed && spec.image_side_pixels() == 0 ? MaxBatchTokens(view) : 0;
}

absl::StatusOr<std::string> ChooseCheckpoint(const ModelExportRequest& request) {
  LRA_ASSIGN_OR_RETURN(std::string found, FindCheckpoint(request.run));
  if (request.checkpoint == "selected") return found;
  const std::vector<int64_t> steps = CheckpointSteps(request.run);
  if (steps.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--checkpoint: is ", request.checkpoint,
                                                   ", but ", request.run, " is no run's folder"));
  }
  if (request.checkpoint == "last") return LatestCheckpoint(request.run);
  int64_t step = -1;
  const bool is_step = absl::StartsWith(request.checkpoint, "step-") &&
                       absl::SimpleAtoi(request.checkpoint.substr(5), &step);
  if (is_step && std::find(steps.begin(), steps.end(), step) != steps.end())
    return CheckpointPath(request.run, step);
  return absl::NotFoundError(absl::StrCat(
      "--checkpoint: is ", request.checkpoint, ", must be selected, last or ",
      absl::StrJoin(steps, ", ",
                    [](std::string* out, int64_t at) { absl::StrAppend(out, "step-", at); })));
}

absl::Status WriteFiles(const std::string& checkpoint, const std::string& config,
                        const std::string& out_dir) {
  const std::string weights =
      IsWeightsFile(checkpoint) ? checkpoint : JoinPath(checkpoint, kWeightsFile);
  LRA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(weights));
  LRA_ASSIGN_OR_RETURN(StagingDirectory folder, StagingDirectory::Create(out_dir));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder.path(), kWeightsFile), bytes));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder.path(), "config.json"), config));
  LRA_RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder.path(), "model.py"), kModelPy));
  return folder.Commit();
}

}  // namespace

std::vector<std::string> ExportedNames(absl::string_view kind) {
  // A class is registered by the line above it: @attention("linear").
  const std::string mark = absl::StrCat("\n@", kind, "(\"");
  std::vector<std::string> names;
  const absl::string_view text = kModelPy;
  for (size_t at = text.find(mark); at != absl::string_view::npos; at = text.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    names.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return names;
}

absl::Status CheckIsExported(const ExperimentConfig& config) {
  LRA_RETURN_IF_ERROR(CheckName("block", config.block().name()));
  if (config.attention().name() == kNoAttention) return absl::OkStatus();
  if (config.attention().name() == kPythonAttention)
    return NeedsPython(config.attention().options());
  return CheckName("attention", config.attention().name());
}

std::string ExportedConfig(const ExperimentConfig& config, const TaskSpec& spec,
                           const ExportedFacts& facts) {
  ExperimentConfig complete = config;
  FillLegacyValues(&complete);
  complete.mutable_attention()->set_causal(config.attention().causal());
  const DataView& view = complete.view();
  const Json json = {{"format_version", kFormatVersion},
                     {"protocol", complete.protocol()},
                     {"preset", complete.preset()},
                     {"seed", complete.seed()},
                     {"step", facts.step},
                     {"precision", NumericsConfig::Precision_Name(complete.numerics().precision())},
                     {"task", TaskJson(spec)},
                     {"longest_tokens", LongestSequence(complete)},  // CLS included
                     {"pad_to_tokens", PadToTokens(view, spec)},
                     {"zero_is_padding", view.zero_is_padding()},
                     {"padding_matters", facts.padding_matters},
                     {"evaluation_batch_examples", complete.train().batch_examples()},
                     {"view", Json::parse(ToJson(view))},
                     {"model", Json::parse(ToJson(complete.model()))},
                     {"block", PartJson(complete.block())},
                     {"attention", PartJson(complete.attention())}};
  return JsonText(json) + "\n";
}

absl::StatusOr<ExportedModel> ExportPyTorch(const ModelExportRequest& request) {
  ExportedModel exported;
  LRA_ASSIGN_OR_RETURN(exported.checkpoint, ChooseCheckpoint(request));
  LRA_ASSIGN_OR_RETURN(CheckpointState state, LoadCheckedState(exported.checkpoint));
  ExperimentConfig* config = state.mutable_config();
  FillLegacyValues(config);
  LRA_RETURN_IF_ERROR(CheckIsExported(*config));
  if (state.spec().guesses_tokens()) {
    return absl::InvalidArgumentError(
        "--pytorch: this run guesses tokens (view.target); model.py has labels only");
  }
  // Makes sure that the weights are those of the model.
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                       LoadClassifier(exported.checkpoint, state));
  const ExportedFacts facts = {.step = state.step(),
                               .padding_matters = model->depends_on_padding()};
  LRA_RETURN_IF_ERROR(WriteFiles(exported.checkpoint, ExportedConfig(*config, state.spec(), facts),
                                 request.out_dir));
  exported.step = state.step();
  exported.block = config->block().name();
  exported.attention = config->attention().name();
  exported.computes_otherwise = config->numerics().precision() != NumericsConfig::FP32;
  exported.files = {kWeightsFile, "config.json", "model.py"};
  return exported;
}

}  // namespace lra
