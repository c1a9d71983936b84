// lra generate RUN
#include "inspect/generate.h"

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "eval/metric.h"
#include "lra/files.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

struct GenerateFlags {
  GenerateRequest request;
  std::string prompt, png, split;
  std::optional<int64_t> top_k;
  std::optional<uint32_t> seed;
  bool recompute = false;
};

int64_t DrawnTokens(const GeneratedText& text) {
  return static_cast<int64_t>(text.ids.size()) - text.given_tokens;
}

// "1.234 bits/dim": of the drawn tokens, in the unit that tables of bits_per_token have on such a
// task, whatever its own metric is (that of copy is nats).
std::string BitsText(const TaskSpec& spec, const GeneratedText& text) {
  Sums sums;
  (*sums.mutable_counts())[kTokens] = DrawnTokens(text);
  (*sums.mutable_totals())[kNats] = text.nats;
  const Metric& bits = **MetricOf(spec, kBitsPerToken);
  return bits.Text(bits.Value(sums));
}

// Control characters are escaped; bytes that are no UTF-8 stay.
std::string Readable(const TaskSpec& spec, const std::vector<int32_t>& ids) {
  const std::string text = TextOfIds(spec, ids);
  return spec.content() == TaskSpec::TEXT ? absl::Utf8SafeCHexEscape(text) : text;
}

// "16,896 bytes of state a text after 1 token, 16,896 after 392, 16,896 after 783: +0.0 bytes a
// token".
std::string StateText(const std::vector<StateSize>& sizes) {
  std::string text;
  for (const StateSize& size : FirstHalfAndLast(sizes)) {
    const std::string bytes = FormatCount(size.bytes), tokens = FormatCount(size.tokens);
    text += text.empty() ? absl::StrFormat("%s bytes of state a text after %s token%s", bytes,
                                           tokens, size.tokens == 1 ? "" : "s")
                         : absl::StrFormat(", %s after %s", bytes, tokens);
  }
  if (sizes.size() > 1) text += absl::StrFormat(": %+.1f bytes a token", StateGrowth(sizes));
  return text;
}

void Print(const GenerateRequest& request, const Generated& generated, const std::string& png) {
  const bool is_picture = generated.spec.image_side_pixels() > 0;
  int64_t drawn = 0;
  for (size_t i = 0; i < generated.texts.size(); ++i) {
    const GeneratedText& text = generated.texts[i];
    drawn += DrawnTokens(text);
    std::cout << absl::StrFormat("%d: %d given, %d drawn", i, text.given_tokens, DrawnTokens(text));
    if (DrawnTokens(text) > 0) std::cout << ", " << BitsText(generated.spec, text);
    std::cout << "\n";
    if (is_picture) continue;
    const auto end_of_given = text.ids.begin() + text.given_tokens;
    std::cout << "  given: " << Readable(generated.spec, {text.ids.begin(), end_of_given})
              << "\n  drawn: " << Readable(generated.spec, {end_of_given, text.ids.end()}) << "\n";
  }
  std::cout << absl::StrFormat("%s: %s tokens in %.2f s, %s a second", generated.attention,
                               FormatCount(drawn), generated.seconds,
                               FormatCount(std::llround(drawn / generated.seconds)));
  if (request.kind == StreamKind::kState && !generated.state_sizes.empty())
    std::cout << "; " << StateText(generated.state_sizes);
  std::cout << (png.empty() ? "" : " -> " + png) << "\n";
}

void PrintAsJson(const GenerateRequest& request, const Generated& generated) {
  nlohmann::ordered_json json = {{"attention", generated.attention},
                                 {"weights_sha256", generated.weights_sha256},
                                 {"temperature", request.temperature}};
  // The likeliest token is not drawn.
  if (request.temperature > 0) {
    json["seed"] = request.seed;
    json["top_k"] = request.top_k;
  }
  json["seconds"] = generated.seconds;
  json["state_bytes_per_text"] = generated.state_bytes_per_text;
  json["state_bytes_per_token"] = StateGrowth(generated.state_sizes);
  json["state_sizes"] = nlohmann::ordered_json::array();
  for (const StateSize& size : FirstHalfAndLast(generated.state_sizes))
    json["state_sizes"].push_back({{"tokens", size.tokens}, {"bytes_per_text", size.bytes}});
  for (const GeneratedText& text : generated.texts) {
    nlohmann::ordered_json one = {
        {"given_tokens", text.given_tokens}, {"nats", text.nats}, {"ids", text.ids}};
    // Unescaped: JSON escapes what it must.
    if (generated.spec.image_side_pixels() == 0) one["text"] = TextOfIds(generated.spec, text.ids);
    if (!text.original.empty()) one["original_ids"] = text.original;
    json["texts"].push_back(std::move(one));
  }
  PrintJson(json);
}

// Refuses flags that would change nothing.
absl::Status CheckGenerateFlags(const GenerateFlags& flags) {
  const GenerateRequest& request = flags.request;
  const auto check = [](absl::string_view why,
                        const std::vector<std::pair<const char*, bool>>& unused) {
    for (const auto& [flag, is_given] : unused) {
      if (is_given) return absl::InvalidArgumentError(absl::StrCat(why, ": leave ", flag, " out"));
    }
    return absl::OkStatus();
  };
  const bool has_prompt = !flags.prompt.empty();
  if (has_prompt || request.given_tokens == int64_t{0}) {
    LRA_RETURN_IF_ERROR(check(absl::StrCat(has_prompt ? "--prompt" : "--given 0", " needs no data"),
                              {{"--split", !flags.split.empty()},
                               {"--data", !request.data_dir.empty()},
                               {"--other-data", request.allows_other_data}}));
  }
  if (request.temperature > 0) return absl::OkStatus();
  return check("--temperature 0 takes the likeliest token",
               {{"--top-k", flags.top_k.has_value()}, {"--seed", flags.seed.has_value()}});
}

absl::Status WritePng(const std::string& path, const Generated& generated) {
  LRA_ASSIGN_OR_RETURN(const std::string png, GeneratedPng(generated));
  return WriteFileAtomically(path, png);
}

absl::Status Run(const GenerateFlags& flags, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(CheckGenerateFlags(flags));
  const bool has_png = !flags.png.empty();
  // Whether the file can be made is known before anything is drawn.
  if (has_png) LRA_RETURN_IF_ERROR(FileWriter::Open(flags.png).status());
  GenerateRequest request = flags.request;
  request.draws_pictures = has_png;
  if (!flags.split.empty()) request.split = flags.split;
  request.top_k = flags.top_k.value_or(request.top_k);
  request.seed = flags.seed.value_or(request.seed);
  request.quiet = context.quiet;
  request.command_line = context.command_line;
  if (!flags.prompt.empty()) request.prompt = flags.prompt;
  if (flags.recompute) request.kind = StreamKind::kRecompute;
  LRA_RETURN_IF_ERROR(StartComputing(request.threads, context));
  LRA_ASSIGN_OR_RETURN(const Generated generated, Generate(request));
  const absl::Status written = has_png ? WritePng(flags.png, generated) : absl::OkStatus();
  if (context.json) {
    PrintAsJson(request, generated);
  } else {
    Print(request, generated, written.ok() ? flags.png : "");
  }
  return written;
}

}  // namespace

void AddGenerateCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<GenerateFlags>();
  GenerateRequest* const request = &flags->request;
  CLI::App* command = AddCommand(
      app, "generate", "Texts and pictures from a run whose tokens are guessed (view.target=NEXT)");
  AddOption(command, "checkpoint", &request->checkpoint,
            "Checkpoint folder, or run folder (its selected checkpoint or, while unfinished, its "
            "latest)",
            {.is_required = true});
  AddOption(command, "--examples", &request->texts,
            "Texts or pictures: each completes one of the split's first examples",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--given", &request->given_tokens,
            "First tokens of each example that are given (default: what the data gives; 0 needs no "
            "data)",
            {.allowed = FlagRules::kNonNegative});
  AddOption(command, "--prompt", &flags->prompt,
            "A text whose bytes are given to each, instead of an example's first tokens");
  AddOption(command, "--tokens", &request->tokens,
            "Length of each, what is given included (default: the example's; without examples, the "
            "longest that the model is made for)",
            {.allowed = FlagRules::kPositive});
  AddOption(command, "--temperature", &request->temperature,
            "Logits are divided by it; 0 takes the likeliest token",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 0, .largest = 100});
  AddOption(command, "--top-k", &flags->top_k,
            "Draw from so many of the likeliest tokens (default: 0 = all)",
            {.allowed = FlagRules::kNonNegative});
  AddOption(command, "--seed", &flags->seed, "Seed of the draws (default: 0)");
  AddSwitch(command, "--recompute", &flags->recompute,
            "Run the model over the whole text for each token; for those that do not stream");
  AddOption(command, "--png", &flags->png,
            "Also draw what was given, what was made of it and the original, for pictures only",
            {.value = kFileValue});
  AddDataOfRun(command, &request->data_dir, &request->allows_other_data);
  AddOption(command, "--split", &flags->split,
            "Split (default: validation); a look at test is logged in the run's record",
            {.value = kSplitValue});
  request->threads = 1;
  AddThreads(command, &request->threads, "; a token is too little work for more than one");
  AddDevice(command, &request->device);
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra generate runs/mnist_pixels-linear-small-s0 --given 392 --png digits.png\n"
          "  lra generate runs/bytes_lm-cosformer-small-s0 --prompt 'This film is ' --examples 3 "
          "--temperature 0.7\n"
          "  lra generate runs/copy-linear-small-s0 --temperature 0",
          [flags, context] { return Run(*flags, *context); });
}

}  // namespace lra
