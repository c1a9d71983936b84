#include "inspect/generate.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "datasets/id_content.h"
#include "datasets/token_text.h"
#include "datasets/view.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

// Texts that grow side by side: bounds memory, changes no draw.
constexpr int64_t kTextsAtOnce = 64;

struct OpenModel {
  CheckpointState state;
  std::unique_ptr<Classifier> model;
  std::optional<SplitView> split;  // where examples are completed
};

bool NeedsData(const GenerateRequest& request) {
  return !request.prompt && request.given_tokens != int64_t{0};
}

absl::StatusOr<OpenModel> Open(const GenerateRequest& request) {
  OpenModel open;
  if (NeedsData(request)) {
    LRA_ASSIGN_OR_RETURN(Look look, OpenLook(request));
    LRA_RETURN_IF_ERROR(LogLook(request, look));
    open.state = std::move(look.opened.state);
    open.model = std::move(look.opened.model);
    open.split = std::move(look.opened.split);
    return open;
  }
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(request.checkpoint));
  LRA_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(request.device));
  LRA_ASSIGN_OR_RETURN(open.state, LoadCheckedState(checkpoint));
  LRA_ASSIGN_OR_RETURN(open.model, LoadClassifierOn(device, checkpoint, open.state));
  return open;
}

absl::StatusOr<std::vector<int32_t>> IdsOfPrompt(const std::string& prompt, const OpenModel& open) {
  const bool is_bytes = open.state.spec().content() == TaskSpec::TEXT &&
                        open.state.config().view().unit() == DataView::BYTE;
  if (!is_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--prompt: takes bytes, but task ", open.state.config().task(),
                     " has none under view.unit=BYTE; --given takes the first tokens of examples"));
  }
  std::vector<int32_t> ids;
  for (const char byte : prompt) ids.push_back(static_cast<uint8_t>(byte) + 1);
  return ids;
}

int64_t LongestText(const OpenModel& open) { return MaxBatchTokens(open.state.config().view()); }

absl::Status CheckLength(absl::string_view flag, int64_t tokens, const OpenModel& open) {
  if (tokens <= LongestText(open)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, ": is ", tokens,
                                                 ", but the model is made for ", LongestText(open),
                                                 " tokens (view.max_length_tokens)"));
}

// How many of the example's first tokens are given.
absl::StatusOr<int64_t> GivenTokens(const GenerateRequest& request, const SplitView& split,
                                    int64_t example, int64_t length) {
  if (!request.given_tokens) return std::min<int64_t>(split.prompt_tokens(example), length);
  if (*request.given_tokens <= length) return *request.given_tokens;
  return absl::InvalidArgumentError(
      absl::StrCat("--given: is ", *request.given_tokens, ", but example ", example, " of ",
                   request.split, " has ", length, " tokens; give at most that many"));
}

// A text before anything is drawn: what is given, then zeros up to its length.
absl::StatusOr<GeneratedText> StartOf(const GenerateRequest& request, const OpenModel& open,
                                      int64_t i) {
  GeneratedText text;
  if (request.prompt) {
    LRA_ASSIGN_OR_RETURN(text.ids, IdsOfPrompt(*request.prompt, open));
  } else if (open.split) {
    open.split->Read(i, &text.original);
    const auto length = static_cast<int64_t>(text.original.size());
    LRA_ASSIGN_OR_RETURN(const int64_t given, GivenTokens(request, *open.split, i, length));
    text.ids.assign(text.original.begin(), text.original.begin() + given);
  }
  text.given_tokens = static_cast<int64_t>(text.ids.size());
  LRA_RETURN_IF_ERROR(
      CheckLength(request.prompt ? "--prompt" : "--given", text.given_tokens, open));
  const int64_t own_length =
      open.split ? static_cast<int64_t>(text.original.size()) : LongestText(open);
  const int64_t tokens = request.tokens.value_or(own_length);
  if (tokens < text.given_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("--tokens: is ", tokens, ", but ",
                                                   text.given_tokens, " are given, which count; ",
                                                   "say at least that many, or give fewer"));
  }
  text.ids.resize(tokens);
  if (text.original.size() > text.ids.size()) text.original.resize(text.ids.size());
  return text;
}

absl::StatusOr<std::vector<GeneratedText>> StartTexts(const GenerateRequest& request,
                                                      const OpenModel& open) {
  if (request.tokens) LRA_RETURN_IF_ERROR(CheckLength("--tokens", *request.tokens, open));
  if (open.split && request.texts > open.split->size()) {
    return absl::InvalidArgumentError(absl::StrCat("--examples: is ", request.texts, ", but split ",
                                                   request.split, " has ", open.split->size(),
                                                   " examples to complete"));
  }
  std::vector<GeneratedText> texts;
  for (int64_t i = 0; i < request.texts; ++i) {
    LRA_ASSIGN_OR_RETURN(texts.emplace_back(), StartOf(request, open, i));
  }
  return texts;
}

// -1 where texts have no end mark.
int64_t EndMarkOf(const TaskSpec& spec) {
  for (int32_t id = 1; id < spec.vocabulary_size(); ++id)
    if (TokenText(spec, id) == "<eos>") return id;
  return -1;
}

// Lets texts grow side by side, each to its own length.
class Growth {
 public:
  Growth(const GenerateRequest& request, const TaskSpec& spec, absl::Span<GeneratedText> texts,
         int64_t first_text)
      : checkpoint_(request.checkpoint),
        seed_(request.seed),
        rules_{request.temperature, request.top_k, FirstId(spec)},
        end_mark_(EndMarkOf(spec)),
        texts_(texts),
        first_text_(first_text),
        lengths_(texts.size()) {
    for (size_t b = 0; b < texts.size(); ++b)
      lengths_[b] = static_cast<int64_t>(texts[b].ids.size());
  }

  absl::Status Run(TokenStream* stream, Generated* generated) {
    int64_t t = SharedTokens();
    at::Tensor logits = Read(0, t, stream, generated);
    for (; !IsAtEnd(t); ++t) {
      LRA_RETURN_IF_ERROR(Draw(t, logits.contiguous()));
      if (IsAtEnd(t + 1)) break;
      logits = Read(t, 1, stream, generated);
    }
    generated->state_bytes_per_text = stream->state_bytes() / static_cast<int64_t>(texts_.size());
    for (size_t b = 0; b < texts_.size(); ++b) texts_[b].ids.resize(lengths_[b]);
    return absl::OkStatus();
  }

 private:
  // Lets the model read the tokens [first, first + count) of all, and notes what it remembers.
  at::Tensor Read(int64_t first, int64_t count, TokenStream* stream, Generated* generated) const {
    at::Tensor logits = stream->Extend(Ids(first, count));
    const auto texts = static_cast<int64_t>(texts_.size());
    if (first_text_ == 0 && stream->tokens() > 0)
      generated->state_sizes.push_back({stream->tokens(), stream->state_bytes() / texts});
    return logits;
  }

  // How many tokens are given in all texts.
  int64_t SharedTokens() const {
    int64_t shared = texts_[0].given_tokens;
    for (const GeneratedText& text : texts_) shared = std::min(shared, text.given_tokens);
    return shared;
  }

  bool IsAtEnd(int64_t t) const {
    return std::all_of(lengths_.begin(), lengths_.end(),
                       [t](int64_t length) { return t >= length; });
  }

  // The tokens [first, first + count) of all, [B, count]; where a text has ended, anything will do.
  at::Tensor Ids(int64_t first, int64_t count) const {
    at::Tensor ids = at::empty({static_cast<int64_t>(texts_.size()), count}, at::kLong);
    int64_t* out = ids.mutable_data_ptr<int64_t>();
    for (const GeneratedText& text : texts_) {
      for (int64_t t = first; t < first + count; ++t)
        *out++ = t < static_cast<int64_t>(text.ids.size()) ? text.ids[t] : 0;
    }
    return ids;
  }

  // What is not finite has no probabilities: every draw would be the last id.
  absl::Status CheckLogits(absl::Span<const float> row, int64_t t, int64_t text) const {
    if (std::all_of(row.begin(), row.end(), [](float logit) { return std::isfinite(logit); }))
      return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(checkpoint_, ": the logits of token ", t, " of text ", text,
                     " are not finite; `lra doctor RUN` says what is wrong with a run"));
  }

  absl::Status Draw(int64_t t, const at::Tensor& logits) {
    const auto classes = static_cast<size_t>(logits.size(1));
    for (size_t b = 0; b < texts_.size(); ++b) {
      if (t < texts_[b].given_tokens || t >= lengths_[b]) continue;
      const absl::Span<const float> row(logits.const_data_ptr<float>() + b * classes, classes);
      const int64_t text = first_text_ + static_cast<int64_t>(b);
      LRA_RETURN_IF_ERROR(CheckLogits(row, t, text));
      RandomStream random(seed_, domain_,
                          {static_cast<uint32_t>(text), static_cast<uint32_t>(t), 0});
      const int64_t id = SampleToken(row, rules_, random.Uniform());
      texts_[b].ids[t] = static_cast<int32_t>(id);
      texts_[b].nats += NatsOf(row, id);
      if (id == end_mark_) lengths_[b] = t + 1;
    }
    return absl::OkStatus();
  }

  const std::string& checkpoint_;
  const uint32_t seed_;
  const RandomDomain domain_{"generate"};
  const SampleRules rules_;
  const int64_t end_mark_;
  const absl::Span<GeneratedText> texts_;
  const int64_t first_text_;
  std::vector<int64_t> lengths_;
};

absl::Status Grow(const GenerateRequest& request, const OpenModel& open, Generated* generated) {
  const auto count = static_cast<int64_t>(generated->texts.size());
  for (int64_t first = 0; first < count; first += kTextsAtOnce) {
    const int64_t batch = std::min(kTextsAtOnce, count - first);
    const auto stream = open.model->StartStream(batch, request.kind);
    if (!stream.ok()) return Annotate(stream.status(), "streaming (--recompute needs no state)");
    Growth growth(request, generated->spec, absl::MakeSpan(generated->texts).subspan(first, batch),
                  first);
    LRA_RETURN_IF_ERROR(growth.Run(stream->get(), generated));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Generated> Generate(const GenerateRequest& request) {
  if (request.prompt && request.given_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("--prompt and --given ", *request.given_tokens,
                     ": the first tokens are those bytes or an example's; leave one of them out"));
  }
  LRA_ASSIGN_OR_RETURN(const OpenModel open, Open(request));
  const TaskSpec& spec = open.state.spec();
  if (!spec.guesses_tokens() || spec.hides_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.checkpoint, ": the model guesses ",
                     spec.hides_tokens() ? "hidden tokens from all others, so no text grows from it"
                                         : "labels, not tokens",
                     "; train one under view.target=NEXT"));
  }
  Generated generated;
  generated.spec = open.state.spec();
  generated.weights_sha256 = open.state.weights_sha256();
  generated.attention = open.state.config().attention().name();
  LRA_ASSIGN_OR_RETURN(generated.texts, StartTexts(request, open));
  const auto start = std::chrono::steady_clock::now();
  LRA_RETURN_IF_ERROR(
      Annotate(CatchTorch([&] { return Grow(request, open, &generated); }), "generating"));
  generated.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return generated;
}

}  // namespace lra
