#include "cli/experiment_flags.h"

#include "absl/strings/str_cat.h"

namespace lra {

void AddNewExperimentFlags(CLI::App* command, ExperimentChoice* choice) {
  AddOption(command, "--task", &choice->task, "Task: lra list tasks", {.value = kTaskValue});
  AddOption(command, "--attention", &choice->attention, "Attention: lra list attentions",
            {.value = kAttentionValue});
  AddOption(
      command, "--protocol", &choice->protocol,
      absl::StrCat("Rules, e.g. strong, or strong@1 for one version: lra list protocols (default: ",
                   kDefaultProtocol, ")"),
      {.value = kProtocolValue});
  AddOption(command, "--preset", &choice->preset,
            absl::StrCat("Sizes: lra list presets (default: ", kDefaultPreset, ")"),
            {.value = kPresetValue});
  AddSets(command, &choice->sets,
          "A field of the configuration, over everything else, e.g. train.steps=100 (lra config "
          "shows all); may be repeated");
}

void AddExperimentFlags(CLI::App* command, ExperimentChoice* choice) {
  AddNewExperimentFlags(command, choice);
  AddOption(command, "--config", &choice->run_file,
            "Run file with task, protocol, preset and other fields (lra init writes one); flags "
            "win over it",
            {.value = kFileValue});
}

void AddViewFlags(CLI::App* command, ViewChoice* view) {
  AddOption(command, "--protocol", &view->protocol,
            "Rules that say how the data is seen: lra list protocols",
            {.shows_default = true, .value = kProtocolValue});
  AddOption(command, "--preset", &view->preset,
            "Sizes, here the length that texts are cut to: lra list presets",
            {.shows_default = true, .value = kPresetValue});
  AddSets(command, &view->sets,
          "A field of the view, which says how the data is seen, e.g. max_length_tokens=1000 "
          "(view.max_length_tokens is the same); may be repeated",
          kViewFieldValue);
}

}  // namespace lra
