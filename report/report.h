// One page about a folder of runs: leaderboard, and behind every cell the runs that it is made of.
// The page needs no other file and no network, and is a function of the records and of what stands
// beside them: the same bytes on every machine (docs/report.md).
#ifndef LRA_REPORT_REPORT_H_
#define LRA_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "eval/ablation_text.h"
#include "eval/leaderboard.h"
#include "eval/run_record.h"

namespace lra {

struct ReportRequest {
  // The folders that were searched, and what was found in them.
  std::vector<std::string> folders;
  const FoundRuns* found = nullptr;
  const Leaderboard* board = nullptr;
  // Sentences about runs that are still to come, below the title.
  std::vector<std::string> progress{};
  // The folders among them that are suites, their effects, and sentences about what could not be
  // had. A file of the same runs' effects is shown instead (MakeAblations).
  std::vector<std::string> suites{};
  std::vector<AblationReport> ablations{};
  std::vector<std::string> problems{};
  // Where the page will be: runs at or below its folder are linked. Empty = no links.
  std::string page;
};

std::string MakeReport(const ReportRequest& request);

}  // namespace lra

#endif  // LRA_REPORT_REPORT_H_
