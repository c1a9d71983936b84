// Finds what differs between two records: the comparing half of eval/run_record.h.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.h"
#include "google/protobuf/descriptor.h"
#include "lra/config.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

constexpr char kUnset[] = "(unset)";

// Returns the name of a path's top-level field: "curve" for "curve[3].step".
std::string TopLevelName(absl::string_view path) {
  return std::string(path.substr(0, path.find_first_of(".[")));
}

// The order in which differences are listed: the configuration first, results last.
int Rank(absl::string_view path) {
  static const std::map<std::string, int>& ranks = *new std::map<std::string, int>{
      {"config", 0}, {"provenance", 1},     {"config_fingerprint", 2}, {"cell_fingerprint", 2},
      {"curve", 4},  {"weights_sha256", 5}, {"selected_step", 5},      {"selected_validation", 5},
      {"results", 6}};
  const auto it = ranks.find(TopLevelName(path));
  return it == ranks.end() ? 3 : it->second;
}

// "results[0].sums.counts[correct].value" -> "results[test selected].correct": the split stands
// where the position stood, so that results of one split are compared, and a sum is called by its
// name.
std::string NameOfResultField(std::string path, const RunRecord& record) {
  for (int i = 0; i < record.results_size(); ++i) {
    const std::string place = absl::StrCat("results[", i, "]");
    if (!absl::StartsWith(path, place)) continue;
    const SplitResult& result = record.results(i);
    path.replace(0, place.size(),
                 absl::StrCat("results[", result.split(), result.checkpoint().empty() ? "" : " ",
                              result.checkpoint(), "]"));
    break;
  }
  constexpr absl::string_view kValue = "].value";
  for (const std::string& sums : {std::string(".sums.counts["), std::string(".sums.totals[")}) {
    const size_t begin = path.find(sums);
    if (begin == std::string::npos || !absl::EndsWith(path, kValue)) continue;
    path.erase(path.size() - kValue.size());
    path.replace(begin, sums.size(), ".");
  }
  return path;
}

// Fields by the names that people read.
auto NamedFields(const RunRecord& record) {
  auto fields = ComparedFields(record);
  for (auto& [path, value] : fields) path = NameOfResultField(path, record);
  return fields;
}

// What a record says that does not list the field: numbers of its own are 0 where they are unset.
std::string ValueWhereUnset(const std::string& path) {
  const google::protobuf::FieldDescriptor* field = RunRecord::descriptor()->FindFieldByName(path);
  const bool is_number = field != nullptr && !field->has_presence() && !field->is_repeated() &&
                         field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING &&
                         field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_ENUM &&
                         field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_BOOL;
  return is_number ? "0" : kUnset;
}

// Returns all differences: fields of `a` in their order, then those that only `b` has.
std::vector<FieldDifference> AllDifferences(const RunRecord& a, const RunRecord& b) {
  const auto fields_a = NamedFields(a), fields_b = NamedFields(b);
  const std::map<std::string, std::string> map_a(fields_a.begin(), fields_a.end());
  const std::map<std::string, std::string> map_b(fields_b.begin(), fields_b.end());
  std::vector<FieldDifference> differences;
  for (const auto& [path, value] : fields_a) {
    const auto it = map_b.find(path);
    if (it == map_b.end() || it->second != value) {
      differences.push_back({path, value, it == map_b.end() ? ValueWhereUnset(path) : it->second});
    }
  }
  for (const auto& [path, value] : fields_b) {
    if (!map_a.contains(path)) differences.push_back({path, ValueWhereUnset(path), value});
  }
  return differences;
}

// Keeps the first difference of the curve and says in its path how many more there are.
void CollapseCurve(std::vector<FieldDifference>* differences) {
  const auto in_curve = [](const FieldDifference& d) { return TopLevelName(d.path) == "curve"; };
  const auto first = std::find_if(differences->begin(), differences->end(), in_curve);
  if (first == differences->end()) return;
  const auto others = std::count_if(std::next(first), differences->end(), in_curve);
  if (others > 0) absl::StrAppend(&first->path, " (and ", others, " more of the curve)");
  differences->erase(std::remove_if(std::next(first), differences->end(), in_curve),
                     differences->end());
}

}  // namespace

std::vector<FieldDifference> DiffRecords(const RunRecord& a, const RunRecord& b) {
  std::vector<FieldDifference> differences = AllDifferences(a, b);
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& x, const auto& y) { return Rank(x.path) < Rank(y.path); });
  CollapseCurve(&differences);
  return differences;
}

bool EqualExceptVolatile(const RunRecord& a, const RunRecord& b) {
  return Fingerprint(a) == Fingerprint(b);
}

}  // namespace lra
