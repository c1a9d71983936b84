// What of a run's configuration its protocol and preset say, and what somebody set.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/later_look.h"
#include "eval/leaderboard_internal.h"
#include "lra/config.h"
#include "lra/protocol_rules.h"

namespace lra::internal {
namespace {

// Set by nobody in particular: by a fragment, for want of a value, or from another field.
bool IsRule(absl::string_view origin) {
  return IsOfFragment(origin) || absl::StartsWith(origin, "= ") || origin == "default";
}

// Whether a rule that somebody set is what the protocol says anyway. A record names the rules that
// are not; one that names none may be older than that.
bool IsAsTheProtocolSays(const RunRecord& record, const std::string& path) {
  const auto& changed = record.changed_rule();
  return IsRuleOfProtocols(path) && !changed.empty() &&
         std::none_of(changed.begin(), changed.end(),
                      [&](const ChangedRule& rule) { return rule.path() == path; });
}

// Paths in which two runs of one column may differ, as DiffRecords names them.
void AddFreeFields(const RunRecord& record, std::set<std::string>* paths) {
  for (const auto& [path, origin] : record.provenance()) {
    if (IsMethodRule(origin)) paths->insert(absl::StrCat("config.", path));
  }
}

}  // namespace

RunRecord SettingOf(const RunRecord& record) {
  RunRecord setting;
  *setting.mutable_config() = record.config();
  setting.mutable_config()->clear_attention();
  setting.mutable_config()->clear_seed();
  // What a search found may differ between methods and seeds; what was searched may not.
  if (record.config().has_search())
    setting.mutable_config()->mutable_schedule()->clear_learning_rate();
  // So may the weights of encoders that seeds have of their own; how they were made may not.
  if (record.config().has_encoder_recipe())
    setting.mutable_config()->clear_encoder_weights_sha256();
  *setting.mutable_data() = record.data();
  if (Departs(record)) *setting.mutable_later_look() = DepartureOf(record);
  return setting;
}

std::vector<FieldDifference> SettingDifferences(const RunRecord& a, const RunRecord& b) {
  std::set<std::string> free;
  AddFreeFields(a, &free);
  AddFreeFields(b, &free);
  std::vector<FieldDifference> differences;
  for (FieldDifference& d : DiffRecords(SettingOf(a), SettingOf(b))) {
    if (!free.contains(d.path)) differences.push_back(std::move(d));
  }
  return differences;
}

namespace {

// "train.steps=150" for each field that was set by hand and that `counts`.
std::string SetByHand(const RunRecord& record,
                      const std::function<bool(const std::string& path)>& counts) {
  static const std::set<std::string>& names =
      *new std::set<std::string>{"task", "protocol", "preset", "seed"};
  std::vector<std::string> overrides;
  for (const auto& [path, value] : ComparedFields(record.config())) {
    const auto origin = record.provenance().find(path);
    if (origin == record.provenance().end() || names.contains(path) ||
        absl::StartsWith(path, "attention."))
      continue;
    if (path == "schedule.learning_rate" && record.config().has_search()) continue;
    if (path == "encoder_weights_sha256" && record.config().has_encoder_recipe()) continue;
    if (!IsRule(origin->second) && counts(path))
      overrides.push_back(absl::StrCat(path, "=", value));
  }
  return absl::StrJoin(overrides, ", ");
}

}  // namespace

std::string OverridesOf(const RunRecord& record) {
  return SetByHand(record, [](const std::string&) { return true; });
}

std::string TellingOverridesOf(const RunRecord& record) {
  return SetByHand(record,
                   [&](const std::string& path) { return !IsAsTheProtocolSays(record, path); });
}

std::string OverridesOfColumn(const ColumnRuns& column) {
  std::string longest;
  for (const Entry& entry : column.entries) {
    if (entry.record().kind() != RunRecord::MEASURED) continue;
    const std::string own = OverridesOf(entry.record());
    if (own.size() > longest.size()) longest = own;
  }
  return longest;
}

bool IsSetByHand(const RunRecord& record, const std::string& path) {
  const auto origin = record.provenance().find(path);
  return origin != record.provenance().end() && !IsRule(origin->second) &&
         !absl::StartsWith(origin->second, "attention ");
}

std::string MethodRulesOf(const RunRecord& record) {
  std::vector<std::string> rules;
  for (const auto& [path, value] : ComparedFields(record.config())) {
    const auto origin = record.provenance().find(path);
    if (origin == record.provenance().end() || !IsMethodRule(origin->second) ||
        absl::StartsWith(path, "attention."))
      continue;
    rules.push_back(absl::StrCat(path, "=", value));
  }
  return absl::StrJoin(rules, ", ");
}

}  // namespace lra::internal
