// What the subcommands of `lra data` print of a data set.
#ifndef LRA_CLI_DATA_OUTPUT_H_
#define LRA_CLI_DATA_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/manifest.pb.h"
#include "nlohmann/json_fwd.hpp"
#include "tasks/verify.h"

namespace lra {

// Equal inputs, and equal texts of pairs.
struct Leakage {
  std::vector<DuplicateExamples> duplicates;
  std::vector<SharedDocuments> shared_documents;
};
Leakage LeakageOf(const Manifest& manifest);
Leakage LeakageOf(const VerifyReport& report);

// `behind_examples` stands behind the word "examples".
void PrintSplit(const std::string& name, int64_t examples, const std::string& behind_examples,
                int64_t tokens, const std::string& fingerprint);
void PrintSplits(const Manifest& manifest);
// What a reader of a manifest should know beside its splits: ambiguous and left out examples.
void PrintCounts(const Manifest& manifest);
void PrintLeakage(const Leakage& leakage);
void PrintNotes(const std::vector<std::string>& notes);

nlohmann::ordered_json SplitsJson(const Manifest& manifest);
nlohmann::ordered_json LeakageJson(const Leakage& leakage);

}  // namespace lra

#endif  // LRA_CLI_DATA_OUTPUT_H_
