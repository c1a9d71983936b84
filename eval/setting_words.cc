#include "eval/setting_words.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace lra::internal {
namespace {

// Fields that a difference between tables names; two protocols differ in dozens.
constexpr size_t kMaxFieldsNamed = 8;

// "model.positions=SINUSOID"; of a fingerprint its first digits.
std::string FieldText(const FieldDifference& d) {
  constexpr size_t kDigits = 12;
  absl::string_view path = d.path;
  const bool is_digest =
      absl::StartsWith(path, "data.") || absl::StartsWith(path, "later_look.trained_data.");
  absl::ConsumePrefix(&path, "config.");
  return absl::StrCat(path, "=", is_digest ? d.a.substr(0, kDigits) : d.a);
}

// The paths of `fields`, in the order in which they are named. Each of `pairs` are the paths in
// which the column differs from another one. Where the first few do not tell it from each, one path
// of every pair comes before the rest, pairs with fewest paths first: they have the least choice.
std::vector<std::string> NamedFirst(const std::map<std::string, std::string>& fields,
                                    std::vector<std::vector<std::string>> pairs) {
  const auto tells = [](const std::vector<std::string>& named,
                        const std::vector<std::string>& pair) {
    return std::find_first_of(named.begin(), named.end(), pair.begin(), pair.end()) != named.end();
  };
  std::vector<std::string> paths;
  for (const auto& [path, text] : fields) paths.push_back(path);
  const std::vector<std::string> few(
      paths.begin(), paths.begin() + static_cast<int64_t>(std::min(paths.size(), kMaxFieldsNamed)));
  if (std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return tells(few, pair); }))
    return paths;
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<std::string> named;
  for (const std::vector<std::string>& pair : pairs) {
    if (!tells(named, pair)) named.push_back(pair.front());
  }
  for (const std::string& path : paths) {
    if (!tells(named, {path})) named.push_back(path);
  }
  return named;
}

}  // namespace

SettingWords SettingWordsOf(const ColumnRuns& column,
                            const std::vector<const ColumnRuns*>& others) {
  const RunRecord& record = column.entries.front().record();
  const std::string &protocol = record.config().protocol(), &preset = record.config().preset();
  std::vector<std::string> rules;
  if (!protocol.empty()) rules.push_back(absl::StrCat("protocol ", protocol));
  if (!preset.empty()) rules.push_back(absl::StrCat("preset ", preset));
  std::map<std::string, std::string> fields;  // by path
  std::vector<std::vector<std::string>> pairs;
  for (const ColumnRuns* other : others) {
    const RunRecord& there = other->entries.front().record();
    // Two protocols or presets differ in dozens of fields, and their names say so.
    if (other == &column || other->task != column.task ||
        other->metric().name() != column.metric().name() || there.config().protocol() != protocol ||
        there.config().preset() != preset)
      continue;
    std::vector<std::string>& paths = pairs.emplace_back();
    for (const FieldDifference& d : SettingDifferences(record, there)) {
      fields[d.path] = FieldText(d);
      paths.push_back(d.path);
    }
    // Equal values of unlike origin make columns of their own, too.
    if (paths.empty()) {
      fields[""] = absl::StrCat("overridden: ", OverridesOf(record));
      paths.push_back("");
    }
  }
  SettingWords words{absl::StrJoin(rules, ", "), {}};
  const size_t more = fields.size() - std::min(fields.size(), kMaxFieldsNamed);
  for (const std::string& path : NamedFirst(fields, pairs)) words.fields.push_back(fields[path]);
  words.fields.resize(words.fields.size() - more);
  if (more > 0) words.fields.push_back(absl::StrCat("and ", more, " more fields"));
  return words;
}

std::string DescribeSetting(const ColumnRuns& column,
                            const std::vector<const ColumnRuns*>& others) {
  SettingWords words = SettingWordsOf(column, others);
  if (!words.rules.empty()) words.fields.insert(words.fields.begin(), words.rules);
  return absl::StrJoin(words.fields, ", ");
}

std::string DifferingFields(const ColumnRuns& there, const ColumnRuns& here) {
  std::vector<std::string> fields;
  for (const FieldDifference& d :
       SettingDifferences(there.entries.front().record(), here.entries.front().record()))
    fields.push_back(absl::StrCat(d.path, " (", d.a, " there, ", d.b, " here)"));
  if (fields.empty()) return "its overrides' origin";
  const size_t more = fields.size() - std::min(fields.size(), kMaxFieldsNamed);
  fields.resize(fields.size() - more);
  return absl::StrCat(absl::StrJoin(fields, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more fields (`lra diff`)"));
}

}  // namespace lra::internal
