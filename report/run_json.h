// What a page knows of each run, as JSON that its script reads when a cell is opened.
#ifndef LRA_REPORT_RUN_JSON_H_
#define LRA_REPORT_RUN_JSON_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "eval/leaderboard.h"
#include "eval/run_record.h"
#include "nlohmann/json.hpp"

namespace lra {

// Collects runs. Settings and machines that several runs share are stored once.
class RunCollection {
 public:
  explicit RunCollection(LeaderboardOptions options) : options_(std::move(options)) {}

  // `name` is shown; `link` leads to the run's folder from the page, empty = no link. `extras` are
  // facts that files beside the record hold.
  void Add(const RunRecord& record, absl::string_view name, absl::string_view link,
           const nlohmann::ordered_json& extras);

  // "runs", "settings" and "machines"; a run refers to the others by number.
  nlohmann::ordered_json ToJson() const;

 private:
  // Elements that occur once, by number.
  struct Pool {
    size_t NumberOf(nlohmann::ordered_json element);
    nlohmann::ordered_json elements = nlohmann::ordered_json::array();
    std::map<std::string, size_t> numbers;
  };

  LeaderboardOptions options_;
  Pool settings_, machines_;
  nlohmann::ordered_json runs_ = nlohmann::ordered_json::array();
};

}  // namespace lra

#endif  // LRA_REPORT_RUN_JSON_H_
