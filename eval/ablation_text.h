// What `lra ablate` prints.
#ifndef LRA_EVAL_ABLATION_TEXT_H_
#define LRA_EVAL_ABLATION_TEXT_H_

#include <string>
#include <vector>

#include "eval/ablation.h"
#include "eval/published.h"

namespace lra {

// The designs of one suite.
struct AblationReport {
  std::string suite, description;
  std::vector<AblationResult> designs;
  std::vector<PublishedTable> published{};  // to stand beside (eval/ablation_published.h)
  std::vector<std::string> notes{};  // how the runs were obtained, as tables say it; may be empty
};

// A digest of all runs of the designs and of which cell each is, whatever split, metric and
// confidence. Empty where a run has no fingerprint of its own.
std::string RunsFingerprint(const AblationReport& report);

// For each design: its cells, what follows in words, and tables of effects, with what is printed of
// them. Then the notes. Padded Markdown.
std::string WriteAblation(const AblationReport& report);
// A line for each effect on each task; numbers in the metric's own unit, not in points.
std::string WriteAblationCsv(const AblationReport& report);
std::string WriteAblationJson(const AblationReport& report);

// The effect on this task in one sentence or two, no stronger than the numbers.
std::string EffectSentence(const AblationResult& result, const AblationEffect& effect);
// What the design's numbers say, sentence by sentence: main effects, then interactions and the
// simple effects behind those that were told apart, then what limits all of it.
std::vector<std::string> AblationWords(const AblationResult& result);

// How local each cell of one task attends, as a table with its notes; empty where it was not
// measured.
std::string CellsLocalityText(const AblationResult& result, const AblationTask& task);

// "near_majority", "the average of the tasks", "text less image".
std::string WhereText(const AblationEffect& effect);

}  // namespace lra

#endif  // LRA_EVAL_ABLATION_TEXT_H_
