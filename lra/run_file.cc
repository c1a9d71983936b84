#include "lra/run_file.h"

#include <google/protobuf/text_format.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/option_facts.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

namespace pb = google::protobuf;

// "$0" stands for the path.
constexpr char kHead[] = R"(# proto-file: lra/config.proto
# proto-message: lra.RunFile
#
# A run, to be edited. Lines behind "#" inside of `overrides` hold what is so anyway: take the "#" away and change
# the value. Whatever `lra config` lists can be added in the same way.
# `lra data list` says whether the task's data is there, and the line that gets it. Then:
#   lra config --config $0      # every value, and where it comes from
#   lra train --config $0       # trains, tests and records the run; flags win over this file
description: ""
)";

// The fields that people change, and what they are.
const std::map<std::string, std::string>& Meanings() {
  static const auto* const meanings = new std::map<std::string, std::string>{
      {"view.max_length_tokens", "Longer inputs are cut to their first tokens."},
      {"model.layers", "Layers of the encoder."},
      {"model.width", "Model width E."},
      {"model.heads", "Heads H; they divide the width."},
      {"model.mlp_width", "Hidden width of each layer's MLP."},
      {"model.dropout", "Share of activations that training drops."},
      {"schedule.learning_rate", "The largest learning rate."},
      {"train.steps", "Optimiser steps."},
      {"train.batch_examples", "Batch size B."},
      {"train.eval_every_steps", "Steps from one look at the validation split to the next."},
      {"numerics.precision", "Precision of matrix products; TF32 on CUDA alone."},
      {"seed", "Seed of initial weights, dropout and order; `lra train --seeds 0-4` trains five."},
  };
  return *meanings;
}

// Every line of the text behind `prefix`.
std::string Prefixed(absl::string_view text, absl::string_view prefix) {
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n'))
    absl::StrAppend(&lines, prefix, line, "\n");
  return lines;
}

std::string Braced(absl::string_view name, absl::string_view inside) {
  return absl::StrCat(name, " {\n", inside.empty() ? "" : Prefixed(inside, "  "), "}\n");
}

bool IsSet(const pb::Message& message, const pb::FieldDescriptor* field) {
  return field->is_repeated() ? message.GetReflection()->FieldSize(message, field) > 0
                              : message.GetReflection()->HasField(message, field);
}

// "steps: 100", and one line for each value of a repeated field.
std::string Assignment(const pb::Message& message, const pb::FieldDescriptor* field) {
  const int values = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
  std::string lines;
  for (int i = 0; i < values; ++i) {
    std::string value;
    pb::TextFormat::PrintFieldValueToString(message, field, field->is_repeated() ? i : -1, &value);
    absl::StrAppend(&lines, field->name(), ": ", value, "\n");
  }
  return lines;
}

std::string FieldsText(const pb::Message& sets, const pb::Message& resolved,
                       const std::string& path, bool knows_all);

// Options of a plug-in. Unless one is set they stay behind "#" as a whole, so that the file goes
// with other plug-ins, too.
std::string OptionsText(const pb::Message& sets, const pb::Message& resolved,
                        const std::string& path) {
  const std::unique_ptr<pb::Message> options = UnpackAny(resolved);
  if (options == nullptr) return "";
  const std::unique_ptr<pb::Message> chosen = UnpackAny(sets);
  const std::string fields = FieldsText(chosen == nullptr ? *options : *chosen, *options, path,
                                        /*knows_all=*/true);
  if (fields.empty()) return "";
  const std::string type =
      absl::StrCat("[type.googleapis.com/", options->GetDescriptor()->full_name(), "]");
  const std::string text = Braced("options", Braced(type, fields));
  return chosen != nullptr ? text : Prefixed(text, "# ");
}

std::string MessageText(const pb::Message& sets, const pb::Message& resolved,
                        const pb::FieldDescriptor* field, const std::string& path) {
  if (field->is_repeated() || !(IsSet(sets, field) || IsSet(resolved, field))) return "";
  const pb::Message& inner_sets = sets.GetReflection()->GetMessage(sets, field);
  const pb::Message& inner = resolved.GetReflection()->GetMessage(resolved, field);
  if (IsAnyField(field)) return OptionsText(inner_sets, inner, path);
  const std::string fields = FieldsText(inner_sets, inner, path, /*knows_all=*/false);
  return fields.empty() ? "" : Braced(field->name(), fields);
}

// `allowed` as in OptionFact.
std::string ScalarText(const pb::Message& sets, const pb::Message& resolved,
                       const pb::FieldDescriptor* field, const std::string& path,
                       const std::string& allowed) {
  const auto meaning = Meanings().find(path);
  std::string comment = meaning == Meanings().end() ? "" : absl::StrCat(meaning->second, " ");
  absl::StrAppend(&comment, allowed.empty() ? "" : absl::StrCat("(", allowed, ")"));
  comment = comment.empty() ? "" : absl::StrCat("# ", absl::StripSuffix(comment, " "), "\n");
  if (IsSet(sets, field)) return comment + Assignment(sets, field);
  return comment + Prefixed(Assignment(resolved, field), "# ");
}

// The fields that are set in `sets`, and behind "#" the known ones with their values in `resolved`,
// a message of the same type. All are known of a plug-in's options, which explain themselves by
// what they allow.
std::string FieldsText(const pb::Message& sets, const pb::Message& resolved,
                       const std::string& path, bool knows_all) {
  std::map<std::string, std::string> allowed;
  for (const OptionFact& fact : DescribeOptions(resolved)) allowed[fact.name] = fact.allowed;
  std::string text;
  for (int i = 0; i < sets.GetDescriptor()->field_count(); ++i) {
    const pb::FieldDescriptor* field = sets.GetDescriptor()->field(i);
    const std::string field_path = ChildPath(path, field->name());
    if (IsMessageField(field)) {
      text += MessageText(sets, resolved, field, field_path);
    } else if (IsSet(sets, field) || (IsSet(resolved, field) && !field->is_repeated() &&
                                      (knows_all || Meanings().count(field_path) > 0))) {
      text += ScalarText(sets, resolved, field, field_path, allowed[field->name()]);
    }
  }
  return text;
}

// Nothing but what `sets` say. The types of options are those of the configuration.
absl::StatusOr<ExperimentConfig> OnlySets(const std::vector<std::string>& sets,
                                          const ExperimentConfig& config) {
  ExperimentConfig only;
  const auto prepare = [](const pb::Any& whole, pb::Any* options) {
    const std::unique_ptr<pb::Message> message = UnpackAny(whole);
    if (message == nullptr || !options->type_url().empty()) return;
    message->Clear();
    PackAny(*message, options);
  };
  for (const std::string& set : sets) {
    if (absl::StartsWith(set, "attention.options."))
      prepare(config.attention().options(), only.mutable_attention()->mutable_options());
    if (absl::StartsWith(set, "block.options."))
      prepare(config.block().options(), only.mutable_block()->mutable_options());
    LRA_RETURN_IF_ERROR(SetField(&only, set));
  }
  return only;
}

// Suites belong to a folder above this one: their type is there where the program has them.
bool IsSuite(const std::string& path) {
  const pb::Descriptor* const type =
      pb::DescriptorPool::generated_pool()->FindMessageTypeByName("lra.SuiteFile");
  if (type == nullptr) return false;
  const std::unique_ptr<pb::Message> suite(
      pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
  return ReadTextProto(path, suite.get()).ok();
}

std::string Chosen(absl::string_view comment, absl::string_view field, absl::string_view value) {
  return absl::StrCat("\n# ", comment, "\n", field, ": \"", absl::CEscape(value), "\"\n");
}

}  // namespace

absl::StatusOr<RunFile> ReadRunFile(const std::string& path) {
  RunFile run;
  const absl::Status read = ReadTextProto(path, &run);
  if (absl::IsInvalidArgument(read) && IsSuite(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(read.message(), "; this is a suite: lra run ", path));
  }
  LRA_RETURN_IF_ERROR(read);
  return run;
}

absl::StatusOr<std::string> RunFileText(const ExperimentChoice& choice, absl::string_view path) {
  if (!choice.run_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", choice.run_file, ": a run file is made from flags alone"));
  }
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, ResolveExperiment(choice));
  ExperimentConfig config = resolved.config;
  // The length of an image is not a choice.
  if (config.view().has_pixels()) config.mutable_view()->clear_max_length_tokens();
  LRA_ASSIGN_OR_RETURN(const ExperimentConfig sets, OnlySets(choice.sets, config));
  return absl::StrCat(
      absl::StrReplaceAll(kHead, {{"$0", absl::Utf8SafeCEscape(path)}}),
      Chosen("What is learned (lra list tasks).", "task", config.task()),
      Chosen("How tokens are mixed (lra list attentions).", "attention", config.attention().name()),
      Chosen("Rules, of this version (lra list protocols).", "protocol", config.protocol()),
      Chosen("Sizes (lra list presets).", "preset", config.preset()),
      "\n# What differs from protocol, preset and the attention's own file.\n",
      Braced("overrides", FieldsText(sets, config, "", /*knows_all=*/false)));
}

absl::Status WriteRunFile(const ExperimentChoice& choice, absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(const std::string text, RunFileText(choice, path));
  if (FileExists(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": exists already; name another file, or remove it"));
  }
  return WriteFileAtomically(path, text);
}

}  // namespace lra
