#include "eval/verification.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/json_text.h"
#include "lra/progress.h"

namespace lra {
namespace {

std::string StateOf(const Verification& run) {
  return run.is_changed() ? "CHANGED" : run.is_verified() ? "verified" : "not verified";
}

// "64 bit for bit, 3 up to rounding": what there is none of is left out.
std::string CountsText(const std::vector<std::pair<int64_t, absl::string_view>>& counts) {
  std::vector<std::string> parts;
  for (const auto& [count, what] : counts)
    if (count > 0) parts.push_back(absl::StrCat(FormatCount(count), " ", what));
  return absl::StrJoin(parts, ", ");
}

std::string MatchText(const RemadePredictions& predictions) {
  return CountsText(
      {{predictions.same_bits, "bit for bit"},
       {predictions.rounding, "up to rounding"},
       {predictions.moved, "with the same guess and logits that differ by more than rounding"},
       {predictions.ties, "with another guess between classes that are equal up to rounding"},
       {predictions.other_guesses, "with another guess"}});
}

std::string MatchText(const RemadeScores& scores) {
  return CountsText({{scores.same_bits, "bit for bit"},
                     {scores.rounding, "up to rounding"},
                     {scores.moved, "that differ by more than rounding"}});
}

std::string RunText(const Verification& run) {
  std::string text = absl::StrCat(StateOf(run), " ", run.directory, ": ",
                                  FormatCount(run.intact_files), " files as recorded");
  if (run.predictions.total() > 0) {
    absl::StrAppend(&text, "; ", FormatCount(run.predictions.total()),
                    " predictions made anew: ", MatchText(run.predictions));
  }
  if (run.scores.total() > 0) {
    absl::StrAppend(&text, "; ", FormatCount(run.scores.total()),
                    " scores of examples made anew: ", MatchText(run.scores));
  }
  if (!run.missing_files.empty())
    absl::StrAppend(&text, "; not there: ", absl::StrJoin(run.missing_files, ", "));
  if (!run.not_remade.empty())
    absl::StrAppend(&text, "; not made anew: ", absl::StrJoin(run.not_remade, "; "));
  absl::StrAppend(&text, "\n");
  for (const std::string& change : run.changes) absl::StrAppend(&text, "  ", change, "\n");
  return text;
}

struct Tally {
  int64_t verified = 0, changed = 0, not_verified = 0;
};

Tally Count(absl::Span<const Verification> runs) {
  Tally tally;
  for (const Verification& run : runs)
    ++(run.is_changed() ? tally.changed : run.is_verified() ? tally.verified : tally.not_verified);
  return tally;
}

}  // namespace

void RemadePredictions::Add(PredictionMatch match) {
  switch (match) {
    case PredictionMatch::kSameBits:
      ++same_bits;
      return;
    case PredictionMatch::kRounding:
      ++rounding;
      return;
    case PredictionMatch::kMoved:
      ++moved;
      return;
    case PredictionMatch::kTie:
      ++ties;
      return;
    case PredictionMatch::kOtherGuess:
      ++other_guesses;
  }
}

std::string VerificationText(absl::Span<const Verification> runs) {
  std::string text;
  for (const Verification& run : runs) text += RunText(run);
  const Tally tally = Count(runs);
  return absl::StrCat(text, runs.size(), runs.size() == 1 ? " run: " : " runs: ", tally.verified,
                      " verified, ", tally.changed, " changed, ", tally.not_verified,
                      " not verified\n");
}

std::string VerificationJson(absl::Span<const Verification> runs) {
  using Json = nlohmann::ordered_json;
  const Tally tally = Count(runs);
  Json json = {{"verified", tally.verified},
               {"changed", tally.changed},
               {"not_verified", tally.not_verified},
               {"runs", Json::array()}};
  for (const Verification& run : runs) {
    const RemadePredictions& made = run.predictions;
    json["runs"].push_back({{"run", run.directory},
                            {"is_changed", run.is_changed()},
                            {"is_verified", run.is_verified()},
                            {"intact_files", run.intact_files},
                            {"changes", run.changes},
                            {"missing_files", run.missing_files},
                            {"predictions",
                             {{"same_bits", made.same_bits},
                              {"up_to_rounding", made.rounding},
                              {"moved", made.moved},
                              {"ties", made.ties},
                              {"other_guesses", made.other_guesses}}},
                            {"scores",
                             {{"same_bits", run.scores.same_bits},
                              {"up_to_rounding", run.scores.rounding},
                              {"moved", run.scores.moved}}},
                            {"not_remade", run.not_remade}});
  }
  return JsonText(json) + "\n";
}

absl::Status ChangedRuns(absl::Span<const Verification> runs) {
  const int64_t changed = Count(runs).changed;
  if (changed == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("something differs in ", changed, " of ", runs.size(),
                                          runs.size() == 1 ? " run" : " runs"));
}

}  // namespace lra
