#include "tasks/import_test_util.h"

#include <archive.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/random.h"
#include "tasks/task.h"
#include "tasks/verify.h"

namespace lra {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kBlockBytes = 1 << 20;

void WriteEntry(archive* writer, const Entry& item) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, item.name.c_str());
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_filetype(entry, item.type == 0 ? AE_IFREG : item.type);
  if (item.type == 0) archive_entry_set_hardlink(entry, item.bytes.c_str());
  if (item.type == AE_IFLNK) archive_entry_set_symlink(entry, item.bytes.c_str());
  const bool plain = item.type == AE_IFREG;
  archive_entry_set_size(entry, plain ? static_cast<int64_t>(item.bytes.size()) + item.zeros : 0);
  LRA_CHECK(archive_write_header(writer, entry) == ARCHIVE_OK) << archive_error_string(writer);
  const auto write = [&](absl::string_view bytes) {
    const la_ssize_t written = archive_write_data(writer, bytes.data(), bytes.size());
    LRA_CHECK(written == static_cast<la_ssize_t>(bytes.size()));
  };
  if (plain) write(item.bytes);
  const std::string zeros(item.zeros > 0 ? kBlockBytes : 0, '\0');
  for (int64_t left = plain ? item.zeros : 0; left > 0; left -= kBlockBytes) {
    write(absl::string_view(zeros).substr(0, std::min(left, kBlockBytes)));
  }
  archive_entry_free(entry);
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void WritePlainly(const std::string& path, absl::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Whether a folder can hold these entries.
bool IsFolder(const Entries& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (entry.type != AE_IFREG || absl::StrContains(entry.name, "..")) return false;
    names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

void ExpectWords(const absl::Status& status, const Broken& row) {
  EXPECT_EQ(status.code(), row.code) << status;
  for (const std::string& words : row.words) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  EXPECT_LT(status.message().size(), 1000u);
}

Entries Shuffled(const Entries& entries) {
  Entries shuffled;
  for (int64_t i : Permutation(static_cast<int64_t>(entries.size()),
                               RandomStream(5, RandomDomain::kTest, {0, 0, 0}))) {
    shuffled.push_back(entries[i]);
  }
  return shuffled;
}

std::unique_ptr<Task> MakeTask(const std::string& name, const std::vector<std::string>& set) {
  TaskFile file = *LoadTaskFile(name);
  for (const std::string& assignment : set) {
    LRA_CHECK(SetField(&file, absl::StrCat("options.", assignment)).ok()) << assignment;
  }
  return *TaskRegistry::Get().Create("task", name, file.options());
}

}  // namespace

Change Put(Entry entry) {
  return [entry = std::move(entry)](Entries* entries) {
    for (Entry& there : *entries) {
      if (there.name != entry.name) continue;
      there = entry;
      return;
    }
    entries->push_back(entry);
  };
}

Change Put(const std::string& name, const std::string& bytes) { return Put(Entry{name, bytes}); }

Change Again(const std::string& name, const std::string& bytes) {
  return [=](Entries* entries) { entries->push_back({name, bytes}); };
}

Change Drop(const std::string& prefix) {
  return [=](Entries* entries) {
    const auto is_below = [&](const Entry& e) { return absl::StartsWith(e.name, prefix); };
    entries->erase(std::remove_if(entries->begin(), entries->end(), is_below), entries->end());
  };
}

Change All(std::vector<Change> changes) {
  return [changes = std::move(changes)](Entries* entries) {
    for (const Change& change : changes) change(entries);
  };
}

void WriteArchive(const std::string& path, Wrapping wrapping, const Entries& entries) {
  archive* writer = archive_write_new();
  if (wrapping == Wrapping::kZip) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_gnutar(writer);
  }
  if (wrapping == Wrapping::kTarGz) {
    archive_write_add_filter_gzip(writer);
    archive_write_set_filter_option(writer, "gzip", "compression-level", "1");
  }
  archive_write_set_bytes_in_last_block(writer, 1);
  LRA_CHECK(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const Entry& entry : entries) WriteEntry(writer, entry);
  LRA_CHECK(archive_write_close(writer) == ARCHIVE_OK);
  archive_write_free(writer);
}

Entries EntriesOf(const std::string& folder) {
  Entries entries;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    entries.push_back(
        {file.path().lexically_relative(folder).string(), *ReadFile(file.path().string())});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (Entry& entry : EntriesOf(folder)) contents[entry.name] = std::move(entry.bytes);
  return contents;
}

Entries HostileEntries(const std::vector<std::string>& names) {
  Entries entries = {{"aside/link", "/etc/passwd", AE_IFLNK}, {"aside/hard", "/etc/passwd", 0u}};
  for (const std::string& name : names) {
    for (unsigned type : {AE_IFCHR, AE_IFBLK, AE_IFIFO, AE_IFDIR})
      entries.push_back({name, "", type});
  }
  return entries;
}

StandardInput::StandardInput(std::string bytes) : saved_(dup(STDIN_FILENO)) {
  int ends[2];
  LRA_CHECK(saved_ >= 0 && pipe(ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
  close(ends[0]);
  writer_ = std::thread([bytes = std::move(bytes), end = ends[1]] {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = write(end, bytes.data() + done, bytes.size() - done);
      if (count < 0) break;
      done += static_cast<size_t>(count);
    }
    close(end);
  });
}

StandardInput::~StandardInput() {
  char rest[4096];
  while (read(STDIN_FILENO, rest, sizeof(rest)) > 0) {
  }
  writer_.join();
  dup2(saved_, STDIN_FILENO);
  close(saved_);
}

ImportTestBase::ImportTestBase(std::string task, std::vector<std::string> set)
    : task_(std::move(task)), set_(std::move(set)) {
  LRA_CHECK(MakeDirectories(raw_).ok() && MakeDirectories(made_).ok());
}

std::string ImportTestBase::WriteFolder(const Entries& entries) const {
  const std::string path = JoinPath(raw_, "folder");
  LRA_CHECK(RemoveAll(path).ok() && MakeDirectories(path).ok());
  for (const Entry& entry : entries) {
    const fs::path file(JoinPath(path, entry.name));
    fs::create_directories(file.parent_path());
    WritePlainly(file.string(), entry.bytes);
    fs::resize_file(file, entry.bytes.size() + entry.zeros);
  }
  return path;
}

std::string ImportTestBase::WriteTar(const Entries& entries, Wrapping wrapping) const {
  const std::string path = JoinPath(raw_, "archive");
  WriteArchive(path, wrapping, entries);
  return path;
}

absl::StatusOr<PrepareResult> ImportTestBase::Import(const std::string& raw, int threads,
                                                     const std::string& name) const {
  PrepareOptions options;
  options.task = task_;
  options.raw = raw;
  options.out = Out(name);
  options.set = set_;
  options.threads = threads;
  options.quiet = true;
  return Prepare(options);
}

std::string ImportTestBase::Out(const std::string& name) const { return JoinPath(made_, name); }

absl::Status ImportTestBase::Refusal(const std::string& raw) const {
  const absl::Status status = Import(raw).status();
  EXPECT_FALSE(status.ok());
  if (status.ok()) RemoveAll(Out()).IgnoreError();
  EXPECT_THAT(Names(made_), IsEmpty());
  EXPECT_THAT(Names(folder_.path()), ElementsAre("made", "raw"));
  return status;
}

void ImportTestBase::ExpectRefused(const Entries& good, const std::vector<Broken>& table) const {
  for (const Broken& row : table) {
    SCOPED_TRACE(row.words.front());
    Entries entries = good;
    row.change(&entries);
    ExpectWords(Refusal(WriteTar(entries)), row);
    if (IsFolder(entries)) ExpectWords(Refusal(WriteFolder(entries)), row);
  }
}

void ImportTestBase::ExpectCutsAreRefused(const Entries& good, bool needs_end) const {
  for (Wrapping wrapping : {Wrapping::kTar, Wrapping::kTarGz, Wrapping::kZip}) {
    const std::string path = WriteTar(good, wrapping), bytes = *ReadFile(path);
    // The list of contents at the end of a zip is only a copy, so cuts there may go unnoticed.
    const auto size = static_cast<int64_t>(std::min(bytes.size(), bytes.find("PK\1\2")));
    std::vector<int64_t> cuts = {0, 1, 100};
    for (int i = 1; i <= 9; ++i) cuts.push_back(size * i / 10);
    if (wrapping == Wrapping::kZip) cuts.push_back(size);
    // A cut between entries, where a tar looks complete.
    const int64_t blocks = wrapping == Wrapping::kTar ? size / 512 - 1 : 0;
    const int64_t step = std::max<int64_t>(1, blocks / 20);
    for (int64_t i = blocks - 1; i > 0; i -= step) cuts.push_back(i * 512);
    // If a reader stops at its last file, what follows may be missing.
    const int64_t enough = wrapping == Wrapping::kTar && !needs_end ? size - 1536 : size + 1;
    for (int64_t cut : cuts) {
      if (cut >= enough) continue;
      SCOPED_TRACE(absl::StrCat("wrapping ", static_cast<int>(wrapping), ", ", cut, " of ", size));
      WritePlainly(path, absl::string_view(bytes).substr(0, cut));
      EXPECT_EQ(Refusal(path).code(), absl::StatusCode::kDataLoss);
    }
  }
}

Manifest ImportTestBase::ExpectImports(const std::string& raw) const {
  LRA_CHECK(RemoveAll(Out()).ok());
  const auto result = Import(raw);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  EXPECT_TRUE(Dataset::Open(Out(), {}).ok());
  EXPECT_THAT(VerifyDataset(Out(), {.quiet = true})->problems, IsEmpty());
  EXPECT_THAT(Names(made_), ElementsAre("out"));
  return result->manifest;
}

void ImportTestBase::ExpectLinksRefused(const Entries& good,
                                        const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    for (unsigned type : {AE_IFLNK, 0u}) {
      Entries entries = {{name, "/etc/passwd", type}};
      entries.insert(entries.end(), good.begin(), good.end());
      ExpectWords(Refusal(WriteTar(entries)),
                  {nullptr,
                   {absl::StrCat("entry ", name, ": is a ", type == 0 ? "hard " : "",
                                 "link to /etc/passwd"),
                    "links in an archive are not followed"}});
    }
  }
}

void ImportTestBase::ExpectPassedOver(const Entries& good, const Entries& more) const {
  ExpectImports(WriteTar(good));
  const auto expected = Contents(Out());
  Entries entries = more;
  entries.insert(entries.end(), good.begin(), good.end());
  ExpectImports(WriteTar(entries));
  EXPECT_EQ(Contents(Out()), expected);
  EXPECT_THAT(Names(folder_.path()), ElementsAre("made", "raw"));
}

Manifest ImportTestBase::ExpectSameFromEveryWrapping() const {
  const std::string sample = JoinPath(raw_, "sample");
  LRA_CHECK(MakeDirectories(sample).ok());
  const auto counts = MakeTask(task_, set_)->WriteSample(sample, 3);
  EXPECT_TRUE(counts.ok()) << counts.status();
  const Manifest manifest = ExpectImports(sample);
  for (int i = 0; i < manifest.splits_size(); ++i) {
    EXPECT_EQ(manifest.splits(i).examples(), (*counts)[i]);
  }
  const auto expected = Contents(Out());
  const auto expect_same = [&](const std::string& raw, const std::string& what) {
    SCOPED_TRACE(what);
    ExpectImports(raw);
    EXPECT_EQ(Contents(Out()), expected);
  };
  const Entries entries = EntriesOf(sample);
  expect_same(WriteTar(entries), "tar.gz");
  expect_same(WriteTar({entries.rbegin(), entries.rend()}, Wrapping::kTar), "reversed");
  expect_same(WriteTar(Shuffled(entries), Wrapping::kTar), "shuffled");
  for (Wrapping wrapping : {Wrapping::kZip, Wrapping::kTarGz}) {
    const std::string path = WriteTar(Shuffled(entries), wrapping);
    expect_same(path, "zip or tar.gz");
    if (wrapping == Wrapping::kZip) continue;  // refused there
    const StandardInput input(*ReadFile(path));
    expect_same("-", "standard input");
  }
  return manifest;
}

std::string RealData(const std::string& name) {
  const char* folder = std::getenv("LRA_TEST_DATA");
  if (folder == nullptr || *folder == 0) return "";
  const std::string path = JoinPath(folder, name);
  return FileExists(path) ? path : "";
}

}  // namespace lra
