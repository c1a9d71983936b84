// What tells the settings of a task's columns apart, in words; private to eval/.
#ifndef LRA_EVAL_SETTING_WORDS_H_
#define LRA_EVAL_SETTING_WORDS_H_

#include <string>
#include <vector>

#include "eval/leaderboard_internal.h"

namespace lra::internal {

// What tells a column from the others of its task. Both are empty of external rows by themselves.
struct SettingWords {
  std::string rules;  // "protocol fair@1, preset small"
  std::vector<std::string>
      fields;  // "model.positions=SINUSOID", where columns of these rules differ
};
SettingWords SettingWordsOf(const ColumnRuns& column, const std::vector<const ColumnRuns*>& others);
// The same as one text: "protocol fair@1, preset small, model.positions=SINUSOID".
std::string DescribeSetting(const ColumnRuns& column, const std::vector<const ColumnRuns*>& others);
// "config.train.steps (150 there, 9 here)": the fields in which two columns of a task differ.
std::string DifferingFields(const ColumnRuns& there, const ColumnRuns& here);

}  // namespace lra::internal

#endif  // LRA_EVAL_SETTING_WORDS_H_
