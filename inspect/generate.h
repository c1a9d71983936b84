// Texts and pictures from a model that guesses tokens (`lra generate`).
#ifndef LRA_INSPECT_GENERATE_H_
#define LRA_INSPECT_GENERATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inspect/open_checkpoint.h"
#include "inspect/sample_token.h"
#include "lra/task_spec.pb.h"
#include "models/token_stream.h"

namespace lra {

struct GenerateRequest : LookRequest {
  // How many; each completes the example at its place in the split, or has none in front of it.
  int64_t texts = 8;
  // How many of the example's first tokens are given. Unset = as many as the data says
  // (kPromptColumn). Under 0 no data is read.
  std::optional<int64_t> given_tokens;
  // These bytes are given to each instead; no data is read.
  std::optional<std::string> prompt;
  // Length of each. Unset = the example's own; without one, the longest that the model is made for.
  std::optional<int64_t> tokens;
  double temperature = 1;
  int64_t top_k = 0;  // 0 = all
  uint32_t seed = 0;
  // kRecompute where asked for; a model that does not stream needs it.
  StreamKind kind = StreamKind::kState;
  // Whether GeneratedPng follows: what it would refuse is refused before anything is drawn.
  bool draws_pictures = false;
};

struct GeneratedText {
  std::vector<int32_t> ids;  // what was given comes first
  int64_t given_tokens = 0;
  double nats = 0;  // of the drawn tokens, under the model as it is (temperature 1)
  // The example that was completed, cut to the same length; empty if there was none.
  std::vector<int32_t> original;
};

// What is remembered of each text.
struct StateSize {
  int64_t tokens = 0;  // that the model has read
  int64_t bytes = 0;
};

struct Generated {
  TaskSpec spec;  // the view's
  std::vector<GeneratedText> texts;
  std::string weights_sha256;
  std::string attention;             // registered name
  double seconds = 0;                // all steps
  int64_t state_bytes_per_text = 0;  // at the end
  // The texts that grew first, after every piece that was read: the first is what all are given, or
  // one token.
  std::vector<StateSize> state_sizes{};
};

// Draws token after token: token t of text i by the stream (seed, "generate", {i, t}), so neither
// the number of texts nor threads change a draw. A text ends behind an end mark. Looks at the test
// split are logged in the run's record, unless the request is refused. InvalidArgument for a model
// of labels and, naming the flag, for lengths that do not fit, for a prompt beside given tokens and
// for more likeliest tokens than there are; FailedPrecondition for a model that does not stream,
// and where logits are not finite.
absl::StatusOr<Generated> Generate(const GenerateRequest& request);

// The first of these, the first with at least half of the last one's tokens, and the last one, each
// once.
std::vector<StateSize> FirstHalfAndLast(const std::vector<StateSize>& sizes);
// By how many bytes a token the state grew from the first to the last; 0 where it is one.
double StateGrowth(const std::vector<StateSize>& sizes);

// A text in readable form: bytes as they are, code points in UTF-8, other tokens' names with blanks
// between, ids without names.
std::string TextOfIds(const TaskSpec& spec, const std::vector<int32_t>& ids);

// InvalidArgument unless the tokens are pixels, and for more than 64 pictures.
absl::Status CheckPictures(const TaskSpec& spec, int64_t count);
// Pictures as rows of: given (grey where nothing was), completed, original; the last one only where
// there is one. The errors of CheckPictures.
absl::StatusOr<std::string> GeneratedPng(const Generated& generated);

}  // namespace lra

#endif  // LRA_INSPECT_GENERATE_H_
