#include "bench/choices.h"

#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

constexpr int64_t kMaxTokens = 1 << 20;

absl::StatusOr<int64_t> ParseLength(absl::string_view text) {
  int64_t tokens = 0;
  if (!absl::SimpleAtoi(text, &tokens) || tokens < 1 || tokens > kMaxTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no length; lengths are whole numbers from 1 to ",
                     kMaxTokens, ": 512,1024 or 512..65536, which doubles"));
  }
  return tokens;
}

// "reformer:rounds=4,buckets=8"; texts are split at commas already, so that "buckets=8" may stand
// alone and belong to the method before it. `name` is the field of the names.
void AddMethod(const std::string& text, std::string MethodChoice::*name,
               std::vector<MethodChoice>* methods) {
  const bool is_option = text.find('=') != std::string::npos && text.find(':') == std::string::npos;
  if (is_option && !methods->empty()) {
    methods->back().options.push_back(text);
    return;
  }
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  MethodChoice method;
  method.*name = parts[0];
  if (parts.size() > 1) method.options.push_back(parts[1]);
  methods->push_back(method);
}

// Takes "causal" out of the options.
void FindCausal(MethodChoice* method) {
  const auto causal = std::find(method->options.begin(), method->options.end(), "causal");
  method->causal = causal != method->options.end();
  if (method->causal) method->options.erase(causal);
}

absl::Status CheckName(absl::string_view kind, const std::string& folder, const std::string& name) {
  const std::vector<std::string> known = ConfigNames(folder);
  return std::find(known.begin(), known.end(), name) == known.end()
             ? UnknownNameError(kind, name, known)
             : absl::OkStatus();
}

absl::Status CheckMethod(MethodChoice* method) {
  FindCausal(method);
  if (method->attention == "softmax") method->attention = "transformer";
  LRA_RETURN_IF_ERROR(CheckName("attention", "attentions", method->attention));
  LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(method->attention));
  return SetOptions("attention", method->attention, file.attention().options(), method->options)
      .status();
}

absl::Status CheckBlockChoice(MethodChoice* method) {
  FindCausal(method);
  method->attention = kNoAttention;
  LRA_RETURN_IF_ERROR(CheckName("block", "blocks", method->block));
  LRA_ASSIGN_OR_RETURN(const BlockFile file, LoadBlockFile(method->block));
  return SetOptions("block", method->block, file.block().options(), method->options).status();
}

}  // namespace

absl::StatusOr<std::vector<MethodChoice>> ParseMethods(const std::vector<std::string>& texts) {
  std::vector<MethodChoice> methods;
  for (const std::string& text : SplitAtCommas(texts))
    AddMethod(text, &MethodChoice::attention, &methods);
  for (MethodChoice& method : methods) LRA_RETURN_IF_ERROR(CheckMethod(&method));
  return methods;
}

absl::StatusOr<std::vector<MethodChoice>> ParseBlocks(const std::vector<std::string>& texts) {
  std::vector<MethodChoice> methods;
  for (const std::string& text : SplitAtCommas(texts))
    AddMethod(text, &MethodChoice::block, &methods);
  for (MethodChoice& method : methods) LRA_RETURN_IF_ERROR(CheckBlockChoice(&method));
  return methods;
}

void SetMethod(const MethodChoice& method, BenchRequest* request) {
  request->set_attention(method.attention);
  request->set_block(method.block);
  request->set_causal(method.causal);
  request->clear_options();
  for (const std::string& option : method.options) request->add_options(option);
}

absl::StatusOr<std::vector<int64_t>> ParseLengths(const std::string& text) {
  std::vector<int64_t> lengths;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> ends = absl::StrSplit(part, "..");
    LRA_ASSIGN_OR_RETURN(const int64_t first, ParseLength(ends.front()));
    LRA_ASSIGN_OR_RETURN(const int64_t last, ParseLength(ends.back()));
    if (ends.size() > 2 || last < first) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part, "\" is no range; the first length stands first: 512..65536"));
    }
    for (int64_t tokens = first; tokens <= last; tokens *= 2) lengths.push_back(tokens);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

std::vector<std::string> SplitAtCommas(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    for (const absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty()))
      words.emplace_back(word);
  }
  return words;
}

absl::StatusOr<BenchRequest> SizedRequest(const std::string& size) {
  struct Size {
    int layers, heads, head_width, mlp_width, batch;
  };
  const std::map<std::string, Size> sizes = {{"small", {2, 2, 32, 128, 16}},
                                             {"released", {4, 4, 64, 1024, 8}},
                                             {"official", {6, 8, 64, 2048, 4}}};
  const auto found = sizes.find(size);
  if (found == sizes.end())
    return UnknownNameError("size", size, {"small", "released", "official"});
  BenchRequest request;
  request.set_scope(BenchRequest::STEP);
  request.set_precision(NumericsConfig::FP32);
  request.set_layers(found->second.layers);
  request.set_heads(found->second.heads);
  request.set_head_width(found->second.head_width);
  request.set_mlp_width(found->second.mlp_width);
  request.set_batch(found->second.batch);
  request.set_dropout(0.1);
  return request;
}

absl::StatusOr<NumericsConfig::Precision> ParsePrecision(const std::string& name) {
  if (name == "float32") return NumericsConfig::FP32;
  if (name == "bfloat16") return NumericsConfig::BF16;
  if (name == "tf32") return NumericsConfig::TF32;
  return UnknownNameError("--dtype", name, {"float32", "bfloat16", "tf32"});
}

const char* PrecisionName(NumericsConfig::Precision precision) {
  if (precision == NumericsConfig::TF32) return "tf32";
  return precision == NumericsConfig::BF16 ? "bfloat16" : "float32";
}

std::vector<MethodChoice> MethodsOf(const std::vector<MethodChoice>& registered,
                                    const std::vector<MethodChoice>& wanted) {
  if (wanted.empty()) return registered;
  std::vector<MethodChoice> methods;
  for (const MethodChoice& method : registered) {
    const bool is_wanted = std::any_of(wanted.begin(), wanted.end(), [&](const MethodChoice& w) {
      return w.attention == method.attention && (!w.causal || method.causal);
    });
    if (is_wanted) methods.push_back(method);
  }
  return methods;
}

}  // namespace lra
