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
#include "datasets/view.h"
#include "lra/random.h"
#include "lra/seconds.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

// Texts that grow side by side: bounds memory, changes no draw.
constexpr int64_t kTextsAtOnce = 64;

struct OpenModel {
  const CheckpointState& state() const { return look.opened.state; }
  const Classifier& model() const { return *look.opened.model; }
  const SplitView& split() const { return look.opened.split; }

  Look look;                  // without data and split where no example is completed
  bool has_examples = false;  // that are completed
};

bool NeedsData(const GenerateRequest& request) {
  return !request.prompt && request.given_tokens != int64_t{0};
}

absl::StatusOr<OpenModel> Open(const GenerateRequest& request) {
  OpenModel open;
  if (NeedsData(request)) {
    LRA_ASSIGN_OR_RETURN(open.look, OpenLook(request));
    open.has_examples = true;
    return open;
  }
  OpenedCheckpoint& opened = open.look.opened;
  LRA_ASSIGN_OR_RETURN(open.look.checkpoint, FindCheckpoint(request.checkpoint));
  LRA_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(request.device));
  LRA_ASSIGN_OR_RETURN(opened.state, LoadCheckedState(open.look.checkpoint));
  LRA_ASSIGN_OR_RETURN(opened.model, LoadClassifierOn(device, open.look.checkpoint, opened.state));
  return open;
}

absl::StatusOr<std::vector<int32_t>> IdsOfPrompt(const std::string& prompt, const OpenModel& open) {
  const bool is_text = open.state().spec().content() == TaskSpec::TEXT;
  if (!is_text || open.state().config().view().unit() != DataView::BYTE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--prompt: takes bytes, but ",
        is_text ? "the run reads code points (view.unit=CODE_POINT)"
                : absl::StrCat("the tokens of task ", open.state().config().task(), " are none"),
        "; --given takes the first tokens of examples"));
  }
  std::vector<int32_t> ids;
  for (const char byte : prompt) ids.push_back(static_cast<uint8_t>(byte) + 1);
  return ids;
}

int64_t LongestText(const OpenModel& open) { return MaxBatchTokens(open.state().config().view()); }

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
  } else if (open.has_examples) {
    open.split().Read(i, &text.original);
    const auto length = static_cast<int64_t>(text.original.size());
    LRA_ASSIGN_OR_RETURN(const int64_t given, GivenTokens(request, open.split(), i, length));
    text.ids.assign(text.original.begin(), text.original.begin() + given);
  }
  text.given_tokens = static_cast<int64_t>(text.ids.size());
  LRA_RETURN_IF_ERROR(
      CheckLength(request.prompt ? "--prompt" : "--given", text.given_tokens, open));
  const int64_t own_length =
      open.has_examples ? static_cast<int64_t>(text.original.size()) : LongestText(open);
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
  if (open.has_examples && request.texts > open.split().size()) {
    return absl::InvalidArgumentError(absl::StrCat("--examples: is ", request.texts, ", but split ",
                                                   request.split, " has ", open.split().size(),
                                                   " examples to complete"));
  }
  std::vector<GeneratedText> texts;
  for (int64_t i = 0; i < request.texts; ++i) {
    LRA_ASSIGN_OR_RETURN(texts.emplace_back(), StartOf(request, open, i));
  }
  return texts;
}

// The view's end mark or, where it adds none, the data's own; -1 where texts have none.
int64_t EndMarkOf(const CheckpointState& state) {
  const TaskSpec& spec = state.spec();
  if (const int32_t id = EndMarkId(spec, state.config().view()); id >= 0) return id;
  for (int32_t id = 1; id < spec.token_names_size(); ++id)
    if (spec.token_names(id) == "<eos>") return id;
  return -1;
}

// Lets texts grow side by side, each to its own length.
class Growth {
 public:
  Growth(const GenerateRequest& request, const CheckpointState& state,
         absl::Span<GeneratedText> texts, int64_t first_text)
      : checkpoint_(request.checkpoint),
        seed_(request.seed),
        rules_{request.temperature, request.top_k, FirstId(state.spec())},
        end_mark_(EndMarkOf(state)),
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

absl::StatusOr<std::unique_ptr<TokenStream>> StartStream(const GenerateRequest& request,
                                                         const OpenModel& open, int64_t texts) {
  absl::StatusOr<std::unique_ptr<TokenStream>> stream =
      open.model().StartStream(texts, request.kind);
  if (!stream.ok()) return Annotate(stream.status(), "streaming (--recompute needs no state)");
  return stream;
}

absl::Status Grow(const GenerateRequest& request, const OpenModel& open, Generated* generated) {
  const auto count = static_cast<int64_t>(generated->texts.size());
  for (int64_t first = 0; first < count; first += kTextsAtOnce) {
    const int64_t batch = std::min(kTextsAtOnce, count - first);
    LRA_ASSIGN_OR_RETURN(const auto stream, StartStream(request, open, batch));
    Growth growth(request, open.state(), absl::MakeSpan(generated->texts).subspan(first, batch),
                  first);
    LRA_RETURN_IF_ERROR(growth.Run(stream.get(), generated));
  }
  return absl::OkStatus();
}

// What is asked of the model, whatever the examples.
absl::Status CheckModel(const GenerateRequest& request, const TaskSpec& spec) {
  if (!spec.guesses_tokens() || spec.hides_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.checkpoint, ": the model guesses ",
                     spec.hides_tokens() ? "hidden tokens from all others, so no text grows from it"
                                         : "labels, not tokens",
                     "; train one under view.target=NEXT"));
  }
  if (request.draws_pictures) LRA_RETURN_IF_ERROR(CheckPictures(spec, request.texts));
  const int64_t ids = spec.classes() - FirstId(spec);
  if (request.top_k <= ids) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--top-k: is ", request.top_k, ", but only ", ids,
                                                 " tokens can be drawn; leave it out for all"));
}

}  // namespace

absl::StatusOr<Generated> Generate(const GenerateRequest& request) {
  if (request.prompt && request.given_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("--prompt and --given ", *request.given_tokens,
                     ": the first tokens are those bytes or an example's; leave one of them out"));
  }
  LRA_ASSIGN_OR_RETURN(const OpenModel open, Open(request));
  LRA_RETURN_IF_ERROR(CheckModel(request, open.state().spec()));
  Generated generated;
  generated.spec = open.state().spec();
  generated.weights_sha256 = open.state().weights_sha256();
  generated.attention = open.state().config().attention().name();
  LRA_ASSIGN_OR_RETURN(generated.texts, StartTexts(request, open));
  LRA_RETURN_IF_ERROR(
      Annotate(CatchTorch([&] { return StartStream(request, open, 1).status(); }), "generating"));
  // What was refused looked at nothing.
  if (open.has_examples) LRA_RETURN_IF_ERROR(LogLook(request, open.look));
  const auto start = std::chrono::steady_clock::now();
  LRA_RETURN_IF_ERROR(
      Annotate(CatchTorch([&] { return Grow(request, open, &generated); }), "generating"));
  generated.seconds = SecondsSince(start);
  return generated;
}

}  // namespace lra
