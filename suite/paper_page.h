// `lra papers`: docs/papers.md, from configs/papers/, configs/published/ and the records.
#ifndef LRA_SUITE_PAPER_PAGE_H_
#define LRA_SUITE_PAPER_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct PaperPageOptions {
  std::vector<std::string> papers;  // names of configs/papers/; empty = the page of all
  // The folder of the results that are kept, which stands beside the page.
  std::string records = "docs/records";
};

// Each paper's items with commands, status and kept results, and the numbers that the paper prints.
// Numbers that were recalled are left out. Errors: those of LoadPaper, StatusOf and
// LoadPublishedTable.
absl::StatusOr<std::string> PaperMarkdown(const PaperPageOptions& options);
absl::StatusOr<std::string> PaperJson(const PaperPageOptions& options);

}  // namespace lra

#endif  // LRA_SUITE_PAPER_PAGE_H_
