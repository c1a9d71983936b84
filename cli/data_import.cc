#include "cli/data_import.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/data_output.h"
#include "cli/flags.h"
#include "lra/excerpt.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/array_import.h"
#include "tasks/data_only.h"
#include "tasks/text_import.h"

namespace lra {
namespace {

// Longer lists stand in the manifest alone.
constexpr int kClassesPrinted = 20;

struct ImportFlags {
  TextImportOptions options;
  bool no_header = false;
  // Whether something is said that holds of texts alone.
  bool has_text_flags() const {
    const TextFields usual;
    return no_header || options.fields.label != usual.label || options.fields.text != usual.text;
  }
};

int64_t ExamplesOfClass(const Manifest& manifest, int label) {
  int64_t examples = 0;
  for (const ManifestSplit& split : manifest.splits()) examples += split.label_count(label);
  return examples;
}

void PrintClasses(const Manifest& manifest) {
  const int classes = manifest.class_names_size();
  for (int label = 0; label < std::min(classes, kClassesPrinted); ++label) {
    std::cout << "  class " << label << " is " << QuotedName(manifest.class_names(label)) << ": "
              << FormatCount(ExamplesOfClass(manifest, label)) << " examples\n";
  }
  if (classes > kClassesPrinted) {
    std::cout << "  and " << FormatCount(classes - kClassesPrinted)
              << " classes more: class_names in manifest.textproto\n";
  }
}

// "texts: at most 4,012 bytes".
std::string ContentText(const TaskSpec& spec) {
  const std::string longest = FormatCount(spec.max_length_tokens());
  if (spec.content() == TaskSpec::TEXT) return absl::StrCat("texts: at most ", longest, " bytes");
  if (spec.content() == TaskSpec::IDS) {
    return absl::StrCat("sequences: at most ", longest, " ids of 1 to ",
                        FormatCount(spec.vocabulary_size() - 1));
  }
  const std::string side = FormatCount(spec.image_side_pixels());
  return absl::StrCat("pictures: ", side, " x ", side, " pixels, ",
                      spec.content() == TaskSpec::RGB_IMAGE ? "in colour" : "grey");
}

// What the view makes of the data: the cut of validation, and of long texts.
void PrintView(const ImportedData& imported) {
  const std::string count = FormatCount(imported.validation_examples);
  if (imported.view.split() == DataView::HOLDOUT) {
    std::cout << "  validation: " << count
              << " examples of train, a tenth of each class (view.split: HOLDOUT)\n";
  } else if (imported.view.split() == DataView::SEED42) {
    std::cout << "  validation and test: " << count
              << " examples each, drawn at random from all (view.split: SEED42)\n";
  }
  std::cout << "  " << ContentText(imported.manifest.spec());
  if (imported.longer_examples > 0) {
    std::cout << "; models read the first " << FormatCount(imported.view.max_length_tokens())
              << ", " << FormatCount(imported.longer_examples)
              << " are longer (--max-length, view.max_length_tokens)";
  }
  std::cout << "\n";
}

void PrintImported(const ImportedData& imported) {
  const Manifest& manifest = imported.manifest;
  std::cout << imported.directory << ": " << manifest.spec().name() << ", imported\n";
  PrintSplits(manifest);
  PrintClasses(manifest);
  PrintLeakage(LeakageOf(manifest));
  PrintView(imported);
  PrintNotes(imported.notes);
  std::cout << "wrote " << imported.rules_path << ": its rules, to be edited\n";
}

void PrintImportedJson(const ImportedData& imported) {
  const Manifest& manifest = imported.manifest;
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (int label = 0; label < manifest.class_names_size(); ++label) {
    classes.push_back({{"label", label},
                       {"name", manifest.class_names(label)},
                       {"examples", ExamplesOfClass(manifest, label)}});
  }
  PrintJson({{"directory", imported.directory},
             {"file", imported.rules_path},
             {"task", manifest.spec().name()},
             {"splits", SplitsJson(manifest)},
             {"classes", classes},
             {"leakage", LeakageJson(LeakageOf(manifest))},
             {"split_rule", DataView::Split_Name(imported.view.split())},
             {"validation_examples", imported.validation_examples},
             {"longest_tokens", manifest.spec().max_length_tokens()},
             {"max_length_tokens", imported.view.max_length_tokens()},
             {"longer_examples", imported.longer_examples},
             {"notes", imported.notes}});
}

absl::Status RunImport(const ImportFlags& flags, const CommandContext& context) {
  TextImportOptions options = flags.options;
  options.quiet = context.quiet;
  options.fields.has_header = !flags.no_header;
  LRA_ASSIGN_OR_RETURN(const bool are_arrays, AreArrays(options));
  if (are_arrays && flags.has_text_flags())
    return absl::InvalidArgumentError(
        "--label, --text and --no-header belong to texts; the arrays of an .npz file are labels "
        "and tokens or images");
  LRA_ASSIGN_OR_RETURN(const ImportedData imported,
                       are_arrays ? ImportArrays(options) : ImportTexts(options));
  context.json ? PrintImportedJson(imported) : PrintImported(imported);
  return absl::OkStatus();
}

}  // namespace

void AddDataImport(CLI::App* data, CommandContext* context) {
  auto flags = std::make_shared<ImportFlags>();
  TextImportOptions& options = flags->options;
  CLI::App* command = AddCommand(
      data, "import",
      "Make a task of your own data: labelled texts in .csv, .tsv, .jsonl (a JSON object on each "
      "line) or a folder with a sub-folder for each class; ids or pictures in NumPy's .npz");
  AddOption(command, "name", &options.task, "Name of the new task", {.is_required = true});
  AddOption(command, "--train", &options.train, "File or folder to train on", {.value = "PATH"});
  AddOption(command, "--test", &options.test, "File or folder to test on", {.value = "PATH"});
  AddOption(command, "--validation", &options.validation,
            "File or folder to validate on (default: a tenth of each class of --train)",
            {.value = "PATH"});
  AddOption(command, "--all", &options.all,
            "In the place of the three: one file or folder, cut 80/10/10 % at random",
            {.value = "PATH"});
  AddOption(command, "--label", &options.fields.label,
            "Column of a table, or field of an object, with the label: any text",
            {.shows_default = true});
  AddOption(command, "--text", &options.fields.text, "Column or field with the text",
            {.shows_default = true});
  AddSwitch(command, "--no-header", &flags->no_header,
            "The first row of a table is an example; --label and --text are numbers of columns");
  AddOption(command, "--max-length", &options.max_length_tokens,
            absl::StrCat("How many bytes of a text or ids of a sequence models read; examples are "
                         "stored whole (default: ",
                         kUsualTextTokens, " bytes, all ids)"),
            {.allowed = FlagRules::kRange, .least = 1, .largest = kMostReadTokens});
  AddOption(command, "--out", &options.out,
            "Folder of the data set (default: $LRA_DATA/NAME or, without LRA_DATA, ./data/NAME)",
            {.value = kFolderValue});
  AddThreads(command, &options.threads, "; of texts alone");
  SetBody(
      command, context,
      "  lra data import reviews --train train.csv --test test.csv --label stars --text review\n"
      "  lra data import reviews --all reviews.jsonl --max-length 1000\n"
      "  lra data import reviews --train reviews/train --test reviews/test\n"
      "  lra data import votes --train train.npz --test test.npz    # tokens or images, and labels",
      [flags, context] { return RunImport(*flags, *context); });
}

}  // namespace lra
