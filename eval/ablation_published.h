// What others printed of an ablation's effects, beside ours: differences between attentions in
// tables of configs/published. The two are never ranked.
#ifndef LRA_EVAL_ABLATION_PUBLISHED_H_
#define LRA_EVAL_ABLATION_PUBLISHED_H_

#include <set>
#include <string>
#include <vector>

#include "eval/ablation.h"
#include "eval/published.h"

namespace lra {

// A main effect of the attention, and the numbers in print of its two methods.
struct PrintedEffect {
  const AblationEffect* ours = nullptr;
  // The column in print, or those that the average in print is over.
  std::vector<std::string> columns;
  std::multiset<std::string> tasks;  // of these columns
  std::string level, reference;      // "55.23"
};

// Main effects on a task stand beside the column of that task, those on the average of the tasks
// beside averages in print, also where these are over other columns. A method that the table prints
// in several rows has none here; nor have numbers of another metric.
std::vector<PrintedEffect> PrintedEffects(const AblationResult& result,
                                          const PublishedTable& published);

// These effects as a table, and what keeps them apart from ours; or that there are none.
std::string PrintedEffectsText(const AblationResult& result, const PublishedTable& published);

}  // namespace lra

#endif  // LRA_EVAL_ABLATION_PUBLISHED_H_
