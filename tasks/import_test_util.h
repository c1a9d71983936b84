// For tests of importers only: writes raw data in every kind of folder and archive and imports it
// through Prepare.
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
#include "lra/folder_test_util.h"
#include "tasks/prepare.h"

namespace lra {

// A file of raw data, or another kind of entry that an archive may hold.
struct Entry {
  std::string name;
  std::string bytes;         // for a link, where it leads
  unsigned type = AE_IFREG;  // 0 stands for a hard link
  int64_t zeros = 0;         // how many zeros follow `bytes`; they are never held in memory
};
using Entries = std::vector<Entry>;

// A change that breaks good raw data.
using Change = std::function<void(Entries*)>;
// Replaces the entry of this name, or adds it.
Change Put(Entry entry);
Change Put(const std::string& name, const std::string& bytes);
// Adds an entry even if one of this name exists.
Change Again(const std::string& name, const std::string& bytes);
// Removes a file, or everything below a folder.
Change Drop(const std::string& prefix);
Change All(std::vector<Change> changes);

struct Broken {
  Change change;
  std::vector<std::string> words;  // words that the message must contain
  absl::StatusCode code = absl::StatusCode::kDataLoss;
};

enum class Wrapping { kTarGz, kTar, kZip };
// Writes a tar, ended by exactly two blocks of 512 zeros, or a zip.
void WriteArchive(const std::string& path, Wrapping wrapping, const Entries& entries);

// The files in a folder and below with their bytes, sorted by name.
Entries EntriesOf(const std::string& folder);
std::map<std::string, std::string> Contents(const std::string& folder);

// Devices, a pipe and a folder with each of these names, and links that nobody asks for.
Entries HostileEntries(const std::vector<std::string>& names);

// While the object lives, standard input is a pipe with these bytes.
class StandardInput {
 public:
  explicit StandardInput(std::string bytes);
  ~StandardInput();

 private:
  const int saved_;
  std::thread writer_;
};

// Has a folder "raw" for what is imported and a folder "made" that holds only what imports make.
class ImportTestBase : public testing::Test {
 protected:
  explicit ImportTestBase(std::string task, std::vector<std::string> set = {});

  // Both functions replace what they wrote before.
  std::string WriteFolder(const Entries& entries) const;
  std::string WriteTar(const Entries& entries, Wrapping wrapping = Wrapping::kTarGz) const;

  // Imports into Out(name).
  absl::StatusOr<PrepareResult> Import(const std::string& raw, int threads = 2,
                                       const std::string& name = "out") const;
  std::string Out(const std::string& name = "out") const;

  // Runs an import that must fail, and expects that nothing is left, neither at --out nor
  // elsewhere.
  absl::Status Refusal(const std::string& raw) const;
  // Expects that every row is refused, from an archive and, if no entry needs an archive, from a
  // folder.
  void ExpectRefused(const Entries& good, const std::vector<Broken>& table) const;
  // Expects that an archive is refused wherever it was cut off. With `needs_end`, also if only the
  // archive's end mark is missing.
  void ExpectCutsAreRefused(const Entries& good, bool needs_end) const;
  // Imports the sample of Task::WriteSample as a folder, as a .tar.gz, as tars in reversed and in
  // shuffled order, as a .zip, and both kinds of archive through a pipe; expects equal and valid
  // data each time. Returns the manifest.
  Manifest ExpectSameFromEveryWrapping() const;
  // Expects that good data is refused with a symbolic or hard link of any of these names in front:
  // it stands for a file that would be missed.
  void ExpectLinksRefused(const Entries& good, const std::vector<std::string>& names) const;
  // Expects that good data with these entries in front imports to the same bytes as without them.
  void ExpectPassedOver(const Entries& good, const Entries& more) const;
  // Replaces Out() by an import that must succeed and be valid; returns its manifest.
  Manifest ExpectImports(const std::string& raw) const;

  const std::string task_;
  const std::vector<std::string> set_;
  const TestFolder folder_;
  const std::string raw_ = folder_.File("raw"), made_ = folder_.File("made");
};

// Path of this file or folder in the folder LRA_TEST_DATA; "" if either is missing.
std::string RealData(const std::string& name);

}  // namespace lra

#endif  // LRA_TASKS_IMPORT_TEST_UTIL_H_
