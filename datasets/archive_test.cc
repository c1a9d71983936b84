#include "datasets/archive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "absl/strings/str_format.h"
#include "datasets/archive_test_util.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

absl::StatusOr<std::map<std::string, std::string>> ReadAll(RawSource* source) {
  std::map<std::string, std::string> files;
  while (true) {
    absl::StatusOr<std::optional<RawEntry>> entry = source->Next();
    if (!entry.ok()) return entry.status();
    if (!entry->has_value()) return files;
    if ((*entry)->is_link) continue;
    std::string& text = files[(*entry)->name];
    char buffer[7];
    while (true) {
      const absl::StatusOr<size_t> count = source->Read(buffer, sizeof(buffer));
      if (!count.ok()) return count.status();
      if (*count == 0) break;
      text.append(buffer, *count);
    }
  }
}

absl::StatusOr<std::map<std::string, std::string>> ReadAll(const std::string& path) {
  absl::StatusOr<std::unique_ptr<RawSource>> source = OpenRawSource(path);
  if (!source.ok()) return source.status();
  return ReadAll(source->get());
}

// Standard input is the file while it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : saved_(dup(STDIN_FILENO)) {
    const int file = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(dup2(file, STDIN_FILENO), STDIN_FILENO);
    close(file);
  }
  ~StandardInput() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }

 private:
  const int saved_;
};

std::string Noise(size_t bytes) {
  std::string noise(bytes, '\0');
  RandomStream random(3, RandomDomain::kTest, {0, 0, 0});
  for (char& byte : noise) byte = static_cast<char>(random.Below(256));
  return noise;
}

class ArchiveTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(folder_.path(), name); }
  const TestFolder folder_;
  const std::vector<TestEntry> entries_ = {{"a/", "", AE_IFDIR},
                                           {"a/one.tsv", "the first file\n"},
                                           {"two.tsv", std::string(100000, 'x')},
                                           {"empty", ""}};
  const std::map<std::string, std::string> contents_ = {
      {"a/one.tsv", "the first file\n"}, {"two.tsv", std::string(100000, 'x')}, {"empty", ""}};
};

TEST_F(ArchiveTest, ReadsTarWhateverItIsCalledAndZip) {
  WriteArchive(Path("release.gz"), false, entries_);
  WriteArchive(Path("release.zip"), true, entries_);
  for (const char* name : {"release.gz", "release.zip"}) {
    const auto files = ReadAll(Path(name));
    ASSERT_TRUE(files.ok()) << files.status();
    EXPECT_EQ(*files, contents_) << name;
  }
}

TEST_F(ArchiveTest, ReadsFolder) {
  ASSERT_TRUE(MakeDirectories(Path("raw/a")).ok());
  for (const auto& [name, data] : contents_) {
    ASSERT_TRUE(WriteFileAtomically(Path("raw/" + name), data).ok());
  }
  const auto files = ReadAll(Path("raw"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(*files, contents_);
}

TEST_F(ArchiveTest, ReadsStandardInput) {
  WriteArchive(Path("release.gz"), false, entries_);
  const StandardInput input(Path("release.gz"));
  const auto files = ReadAll("-");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(*files, contents_);
}

// Its directory is at its end, which a pipe shows last.
TEST_F(ArchiveTest, AZipIsRefusedOnStandardInput) {
  WriteArchive(Path("release.zip"), true, entries_);
  const StandardInput input(Path("release.zip"));
  const absl::Status status = ReadAll("-").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("standard input: is a zip, which is read from its end; save it"));
}

TEST_F(ArchiveTest, ReadsANamedPipe) {
  WriteArchive(Path("release.gz"), false, entries_);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::thread writer([this] {
    const std::string bytes = *ReadFile(Path("release.gz"));
    const int pipe = open(Path("pipe").c_str(), O_WRONLY);
    EXPECT_EQ(write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(pipe);
  });
  const auto files = ReadAll(Path("pipe"));
  writer.join();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(*files, contents_);
}

TEST_F(ArchiveTest, LinksAndPathsOutOfTheArchiveTouchNothing) {
  WriteArchive(
      Path("evil.tar.gz"), false,
      {{"../evil.tsv", "out"}, {"/tmp/evil.tsv", "abs"}, {"link", "/etc/passwd", AE_IFLNK}});
  const auto files = ReadAll(Path("evil.tar.gz"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files,
              UnorderedElementsAre(Pair("../evil.tsv", "out"), Pair("/tmp/evil.tsv", "abs")));
  EXPECT_FALSE(FileExists(Path("../evil.tsv")));
}

// A file that is missing behind a link must not be missed in silence.
TEST_F(ArchiveTest, ReadingALinkOfAnArchiveNamesIt) {
  WriteArchive(Path("links.tar.gz"), false, {{"a/one.tsv", "/etc/passwd", AE_IFLNK}, {"b", "x"}});
  auto source = *OpenRawSource(Path("links.tar.gz"));
  const std::optional<RawEntry> link = *source->Next();
  ASSERT_TRUE(link.has_value() && link->is_link);
  char buffer[10];
  const absl::Status status = source->Read(buffer, sizeof(buffer)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("links.tar.gz, entry a/one.tsv: is a link to /etc/passwd; links in an "
                        "archive are not followed: pack the files themselves"));
  EXPECT_FALSE((*source->Next())->is_link);
  EXPECT_EQ(*source->Read(buffer, sizeof(buffer)), 1u);
}

// An archive that was packed with `tar --dereference` holds the same.
TEST_F(ArchiveTest, LinksOfAFolderAreFollowed) {
  namespace fs = std::filesystem;
  for (const char* file : {"raw/a/one.tsv", "elsewhere/deep/two.tsv", "single"}) {
    ASSERT_TRUE(MakeDirectories(fs::path(Path(file)).parent_path().string()).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(file), file).ok());
  }
  fs::create_directory_symlink(Path("elsewhere"), Path("raw/b"));
  fs::create_directory_symlink("../../elsewhere", Path("raw/a/b"));
  fs::create_symlink(Path("single"), Path("raw/three"));
  const auto files = ReadAll(Path("raw"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, UnorderedElementsAre(Pair("a/one.tsv", "raw/a/one.tsv"),
                                           Pair("b/deep/two.tsv", "elsewhere/deep/two.tsv"),
                                           Pair("a/b/deep/two.tsv", "elsewhere/deep/two.tsv"),
                                           Pair("three", "single")));
  fs::create_symlink("nowhere", Path("raw/four"));
  EXPECT_THAT(std::string(ReadAll(Path("raw")).status().message()),
              testing::AllOf(HasSubstr("raw/four"), HasSubstr("No such file")));
  ASSERT_TRUE(RemoveAll(Path("raw/four")).ok());
  fs::create_directory_symlink(Path("raw"), Path("raw/a/again"));
  const absl::Status circle = ReadAll(Path("raw")).status();
  EXPECT_EQ(circle.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(circle.message()),
              HasSubstr("raw/a/again: links back to a folder that it lies in"));
}

// In the pax format, a hard link may have content of its own.
TEST_F(ArchiveTest, HardLinksWithContentArePassedOver) {
  // so long that it needs a pax header
  const std::string long_name = std::string(300, 'n') + ".tsv";
  WriteArchive(Path("link.tar"), false, {{long_name, "content"}, {"file", "x"}}, false);
  std::string bytes = *ReadFile(Path("link.tar"));
  // The file's own header stands right before its content: type at byte 156, target at 157,
  // checksum at 148 (POSIX.1, ustar).
  const size_t header = bytes.find("content") - 512;
  ASSERT_EQ(bytes[header + 156], '0');
  bytes[header + 156] = '1';
  bytes.replace(header + 157, 4, "file");
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(bytes[header + i]);
  }
  bytes.replace(header + 148, 6, absl::StrFormat("%06o", sum));
  ASSERT_TRUE(WriteFileAtomically(Path("link.tar"), bytes).ok());
  const auto files = ReadAll(Path("link.tar"));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, UnorderedElementsAre(Pair("file", "x")));
}

TEST_F(ArchiveTest, SkipsUnreadEntries) {
  WriteArchive(Path("release.gz"), false, entries_);
  auto source = OpenRawSource(Path("release.gz"));
  ASSERT_TRUE(source.ok());
  int entries = 0;
  while ((*source)->Next()->has_value()) ++entries;
  EXPECT_EQ(entries, 3);
}

TEST_F(ArchiveTest, NamesSourceAndEntryOfADamagedArchive) {
  WriteArchive(Path("release.gz"), false, {{"big.tsv", Noise(300000)}});
  const std::string bytes = *ReadFile(Path("release.gz"));
  ASSERT_TRUE(WriteFileAtomically(Path("cut.gz"), bytes.substr(0, bytes.size() / 2)).ok());
  const auto cut = ReadAll(Path("cut.gz"));
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(cut.status().message()),
              testing::AllOf(HasSubstr("cut.gz"), HasSubstr("big.tsv")));
}

// Noise is stored as it is, so that what is flipped can be inflated, and only the sum tells.
TEST_F(ArchiveTest, ABitThatWasFlippedIsFound) {
  WriteArchive(Path("release.gz"), false, {{"one.tsv", Noise(200000)}, {"two.tsv", Noise(1000)}});
  const std::string whole = *ReadFile(Path("release.gz"));
  std::string flipped = whole;
  flipped[flipped.size() / 2] ^= 4;
  ASSERT_TRUE(WriteFileAtomically(Path("flipped.gz"), flipped).ok());
  const absl::Status status = ReadAll(Path("flipped.gz")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("flipped.gz"), HasSubstr("it is damaged: incorrect data check")));
  EXPECT_EQ(Decompress(flipped, 1 << 20).status().code(), absl::StatusCode::kDataLoss);
  // The trailer alone: behind the end of the tar, which libarchive does not read.
  std::string length = whole;
  length[length.size() - 1] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(Path("flipped.gz"), length).ok());
  EXPECT_THAT(std::string(ReadAll(Path("flipped.gz")).status().message()),
              HasSubstr("incorrect length check"));
  ASSERT_TRUE(WriteFileAtomically(Path("cut.gz"), whole.substr(0, whole.size() - 3)).ok());
  EXPECT_THAT(std::string(ReadAll(Path("cut.gz")).status().message()), HasSubstr("was cut off"));
}

TEST_F(ArchiveTest, GzipMayHaveSeveralMembersAndATapesZeros) {
  WriteArchive(Path("release.gz"), false, entries_);
  const std::string whole = *ReadFile(Path("release.gz"));
  const std::string tar = *Decompress(whole, 1 << 20);
  EXPECT_EQ(*Decompress(whole + whole + std::string(600, '\0'), 1 << 20), tar + tar);
  EXPECT_FALSE(Decompress(whole + whole.substr(0, 100), 1 << 20).ok());
  EXPECT_FALSE(Decompress(whole, tar.size() - 1).ok());
}

// libarchive alone would accept such a tar as complete.
TEST_F(ArchiveTest, ATarThatEndsBetweenEntriesIsRefused) {
  WriteArchive(Path("release.tar"), false, entries_, false);
  const std::string bytes = *ReadFile(Path("release.tar"));
  // The tar holds headers of a/, one.tsv, two.tsv and empty, the files' blocks, and two blocks of
  // zeros.
  const size_t one = 3 * 512, two = one + 512 + (size_t{100000} + 511) / 512 * 512;
  const size_t end = two + 512;
  ASSERT_EQ(bytes.size(), end + 1024);
  for (const auto& [size, name] : std::map<size_t, std::string>{
           {512, "a/"}, {one, "a/one.tsv"}, {two, "two.tsv"}, {end, "empty"}}) {
    ASSERT_TRUE(WriteFileAtomically(Path("cut.tar"), bytes.substr(0, size)).ok());
    const absl::Status cut = ReadAll(Path("cut.tar")).status();
    EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(cut.message()),
                testing::AllOf(HasSubstr("cut.tar: the tar ends behind entry " + name + " "),
                               HasSubstr("it was cut off")));
  }
  // One of the two blocks of zeros is enough, as it is for tar itself.
  ASSERT_TRUE(WriteFileAtomically(Path("cut.tar"), bytes.substr(0, end + 512)).ok());
  EXPECT_EQ(*ReadAll(Path("cut.tar")), contents_);
}

TEST_F(ArchiveTest, SaysWhatIsNoArchive) {
  ASSERT_TRUE(WriteFileAtomically(Path("words.txt"), "just words\n").ok());
  const absl::Status words = ReadAll(Path("words.txt")).status();
  EXPECT_EQ(words.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(words.message()), HasSubstr("words.txt"));
  const absl::Status missing = ReadAll(Path("nothing")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("nothing"));
}

}  // namespace
}  // namespace lra
