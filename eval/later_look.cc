#include "eval/later_look.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/run_record.h"
#include "lra/fingerprint.h"

namespace lra {

LaterLook DepartureOf(const RunRecord& record) {
  LaterLook departure = record.later_look();
  if (!departure.has_trained_data()) return departure;
  DataIdentity& data = *departure.mutable_trained_data();
  data.Clear();
  const auto& splits = record.later_look().trained_data().split_fingerprint();
  for (const char* split : {"train", "validation"}) {
    const auto fingerprint = splits.find(split);
    if (fingerprint != splits.end())
      (*data.mutable_split_fingerprint())[split] = fingerprint->second;
  }
  return departure;
}

bool Departs(const RunRecord& record) {
  const LaterLook& look = record.later_look();
  return look.has_trained_data() || look.trained_max_length_tokens() > 0 || look.has_step();
}

std::string CellFingerprintOf(const RunRecord& record) {
  const std::string own = CellFingerprint(record.config());
  if (!Departs(record)) return own;
  RunRecord cell;
  cell.set_cell_fingerprint(own);
  *cell.mutable_later_look() = DepartureOf(record);
  return Fingerprint(cell);
}

std::string DescribeTrainedOtherwise(const RunRecord& record) {
  constexpr size_t kDigits = 12;
  const LaterLook& look = record.later_look();
  std::vector<std::string> parts;
  if (look.has_trained_data()) {
    const auto& splits = look.trained_data().split_fingerprint();
    const auto train = splits.find("train");
    parts.push_back(
        absl::StrCat("trained on other data (training examples with fingerprint ",
                     train == splits.end() ? "unknown" : train->second.substr(0, kDigits), ")"));
  }
  if (look.trained_max_length_tokens() > 0)
    parts.push_back(
        absl::StrCat("trained at view.max_length_tokens=", look.trained_max_length_tokens()));
  return absl::StrJoin(parts, ", ");
}

bool IsScoredAtTheEndAlone(const RunRecord& record, const std::string& split) {
  if (FindResult(record, split) != nullptr) return false;
  return absl::c_any_of(record.results(), [&](const SplitResult& result) {
    return result.split() == split && result.checkpoint() == kLastCheckpoint;
  });
}

}  // namespace lra
