// What commands that make leaderboards share: which runs, which split and metric, published rows.
#ifndef LRA_CLI_LEADERBOARD_FLAGS_H_
#define LRA_CLI_LEADERBOARD_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags.h"
#include "eval/leaderboard.h"

namespace lra {

struct LeaderboardFlags {
  std::vector<std::string> runs, published;
  std::string tasks, methods;  // "listops,text"; empty = all
  LeaderboardOptions options;
};

// The folders, a positional argument.
void AddRunsArgument(CLI::App* command, LeaderboardFlags* flags);
// --published, --split, --metric, --confidence.
void AddLeaderboardFlags(CLI::App* command, LeaderboardFlags* flags);

// --tasks, --methods.
void AddChoiceFlags(CLI::App* command, LeaderboardFlags* flags);

struct LoadedBoard {
  std::vector<std::string> folders;
  FoundRuns found;
  Leaderboard board;
};

// What `runs` stands for (SuiteFolder in cli/suite_command.h).
absl::StatusOr<std::vector<std::string>> FoldersOf(const LeaderboardFlags& flags);
// Reads the records and makes the leaderboard. Records that cannot be read are set aside
// (found.damaged). InvalidArgument for an empty name in a list; the errors of FindRunRecords and
// BuildLeaderboard and of FoldersOf.
absl::StatusOr<LoadedBoard> LoadBoard(const LeaderboardFlags& flags);

}  // namespace lra

#endif  // LRA_CLI_LEADERBOARD_FLAGS_H_
