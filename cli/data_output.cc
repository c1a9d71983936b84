#include "cli/data_output.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "lra/progress.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"

namespace lra {

Leakage LeakageOf(const Manifest& manifest) {
  return {{manifest.duplicates().begin(), manifest.duplicates().end()},
          {manifest.shared_documents().begin(), manifest.shared_documents().end()}};
}

Leakage LeakageOf(const VerifyReport& report) {
  return {report.duplicates, report.shared_documents};
}

void PrintSplit(const std::string& name, int64_t examples, const std::string& behind_examples,
                int64_t tokens, const std::string& fingerprint) {
  std::cout << "  " << PadRight(name, 10) << " " << PadLeft(FormatCount(examples), 9) << " examples"
            << behind_examples << " " << PadLeft(FormatCount(tokens), 13) << " tokens  "
            << fingerprint.substr(0, 16) << "\n";
}

void PrintSplits(const Manifest& manifest) {
  for (const ManifestSplit& split : manifest.splits())
    PrintSplit(split.name(), split.examples(), "", split.tokens(), split.content_fingerprint());
}

void PrintCounts(const Manifest& manifest) {
  for (const ManifestSplit& split : manifest.splits()) {
    if (split.ambiguous_examples() == 0) continue;
    std::cout << "  ambiguous: " << FormatCount(split.ambiguous_examples()) << " examples of "
              << split.name() << ", whose input does not decide the label\n";
  }
  for (const SkippedExamples& entry : manifest.skipped()) {
    std::cout << "  left out: " << FormatCount(entry.count()) << ": " << entry.reason() << "\n";
  }
}

void PrintLeakage(const Leakage& leakage) {
  for (const DuplicateExamples& entry : leakage.duplicates) {
    std::cout << "  duplicates: " << FormatCount(entry.count()) << " examples of " << entry.split()
              << (entry.split() == entry.earlier_split()
                      ? " repeat an input of the same split"
                      : absl::StrCat(" have an input that occurs in ", entry.earlier_split()))
              << (entry.with_other_label() == 0
                      ? "\n"
                      : absl::StrCat(", ", FormatCount(entry.with_other_label()),
                                     " of them with another label\n"));
  }
  for (const SharedDocuments& entry : leakage.shared_documents) {
    std::cout << "  leakage: " << FormatCount(entry.shared()) << " of the "
              << FormatCount(entry.documents()) << " texts of " << entry.split() << " occur in "
              << entry.earlier_split() << "; they stand in " << FormatCount(entry.examples())
              << " examples\n";
  }
}

void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cout << "  note: " << note << "\n";
}

nlohmann::ordered_json SplitsJson(const Manifest& manifest) {
  nlohmann::ordered_json splits = nlohmann::ordered_json::array();
  for (const ManifestSplit& split : manifest.splits()) {
    splits.push_back({{"name", split.name()},
                      {"examples", split.examples()},
                      {"tokens", split.tokens()},
                      {"content_fingerprint", split.content_fingerprint()}});
  }
  return splits;
}

nlohmann::ordered_json LeakageJson(const Leakage& leakage) {
  nlohmann::ordered_json all = {{"duplicates", nlohmann::ordered_json::array()},
                                {"shared_documents", nlohmann::ordered_json::array()}};
  for (const DuplicateExamples& entry : leakage.duplicates) {
    all["duplicates"].push_back({{"earlier_split", entry.earlier_split()},
                                 {"split", entry.split()},
                                 {"count", entry.count()}});
    if (entry.has_with_other_label())
      all["duplicates"].back()["with_other_label"] = entry.with_other_label();
  }
  for (const SharedDocuments& entry : leakage.shared_documents) {
    all["shared_documents"].push_back({{"earlier_split", entry.earlier_split()},
                                       {"split", entry.split()},
                                       {"shared", entry.shared()},
                                       {"documents", entry.documents()},
                                       {"examples", entry.examples()}});
  }
  return all;
}

}  // namespace lra
