// For tests of importers only: raw data in every wrapping, imported through Prepare.
#ifndef LRA_TASKS_IMPORT_TEST_UTIL_H_
#define LRA_TASKS_IMPORT_TEST_UTIL_H_

#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/test_folder.h"
#include "tasks/prepare.h"

namespace lra {

// A file of raw data, or what archives hold beside files.
struct Entry {
  std::string name;
  std::string bytes;         // of a link: where it leads
  unsigned type = AE_IFREG;  // 0 is a hard link
  int64_t zeros = 0;         // follow behind `bytes`; never held in memory
};
using Entries = std::vector<Entry>;

// What breaks good raw data.
using Change = std::function<void(Entries*)>;
// Replaces the entry of this name, or adds one.
Change Put(Entry entry);
Change Put(const std::string& name, const std::string& bytes);
// Adds a second entry, whatever is there.
Change Again(const std::string& name, const std::string& bytes);
// Takes away a file or everything below a folder.
Change Drop(const std::string& prefix);
Change All(std::vector<Change> changes);

struct Broken {
  Change change;
  std::vector<std::string> words;  // the message has them all
  absl::StatusCode code = absl::StatusCode::kDataLoss;
};

enum class Wrapping { kTarGz, kTar, kZip };
// A tar ends with two blocks of 512 zeros and no more.
void WriteArchive(const std::string& path, Wrapping wrapping, const Entries& entries);

// The files of a folder and below, sorted by name; their bytes by name.
Entries EntriesOf(const std::string& folder);
std::map<std::string, std::string> Contents(const std::string& folder);

// Under these names: a symbolic link, a hard link, a device, a pipe and a folder. The links lead
// to `target`.
Entries HostileEntries(const std::vector<std::string>& names, const std::string& target);

// Until it is gone, standard input is a pipe that these bytes come through.
class StandardInput {
 public:
  explicit StandardInput(std::string bytes);
  ~StandardInput();

 private:
  const int saved_;
  std::thread writer_;
};

// A folder "raw" for what is imported, and a folder "made" for nothing but what imports make.
class ImportTestBase : public testing::Test {
 protected:
  explicit ImportTestBase(std::string task, std::vector<std::string> set = {});

  // Both replace what they wrote before.
  std::string WriteFolder(const Entries& entries) const;
  std::string WriteTar(const Entries& entries, Wrapping wrapping = Wrapping::kTarGz) const;

  // Into Out(name).
  absl::StatusOr<PrepareResult> Import(const std::string& raw, int threads = 2,
                                       const std::string& name = "out") const;
  std::string Out(const std::string& name = "out") const;

  // Imports what must fail, and expects that nothing is left, neither at --out nor elsewhere.
  absl::Status Refusal(const std::string& raw) const;
  // Every row, from an archive and, where no entry needs one, from a folder.
  void ExpectRefused(const Entries& good, const std::vector<Broken>& table) const;
  // What is left of an archive that was cut is never taken for good, wherever the cut is.
  // `needs_end`: nor where only an archive's end is missing.
  void ExpectCutsAreRefused(const Entries& good, bool needs_end) const;
  // The sample of Task::WriteSample as a folder, as a .tar.gz, as tars in reversed and in shuffled
  // order, as a .zip, and both archives through a pipe: the same bytes, all of them valid. Returns
  // the manifest.
  Manifest ExpectSameFromEveryWrapping() const;
  // Good data with these entries put in front imports to the same bytes as without.
  void ExpectPassedOver(const Entries& good, const Entries& more) const;
  // Replaces Out() by what must import, valid; its manifest.
  Manifest ExpectImports(const std::string& raw) const;

  const std::string task_;
  const std::vector<std::string> set_;
  const TestFolder folder_;
  const std::string raw_ = folder_.File("raw"), made_ = folder_.File("made");
};

// The file or folder of this name in the folder LRA_TEST_DATA; "" when either is missing.
std::string RealData(const std::string& name);

}  // namespace lra

#endif  // LRA_TASKS_IMPORT_TEST_UTIL_H_
