#include "datasets/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "datasets/archive_input.h"
#include "datasets/gunzip.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = 1 << 16;

// More linked folders than any data has; links between n folders can make 2^n paths.
constexpr int kMaxLinkedFolders = 100'000;

// Lists the files of a folder, of those in it and of those that links in it lead to.
class FolderLister {
 public:
  absl::Status List(const fs::path& folder) {
    struct stat about {};
    if (stat(folder.c_str(), &about) != 0) return CannotList(errno, folder);
    const std::pair<dev_t, ino_t> id{about.st_dev, about.st_ino};
    if (std::find(above_.begin(), above_.end(), id) != above_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          folder.string(), ": links back to a folder that it lies in; remove the link"));
    }
    above_.push_back(id);
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      LRA_RETURN_IF_ERROR(Add(*it));
    above_.pop_back();
    return error ? CannotList(error.value(), folder) : absl::OkStatus();
  }

  // In any order.
  std::vector<std::string> TakeFiles() { return std::move(files_); }

 private:
  static absl::Status CannotList(int error, const fs::path& folder) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot list \"", folder.string(), "\""));
  }

  absl::Status Add(const fs::directory_entry& entry) {
    std::error_code ignored;
    const bool is_link = entry.is_symlink(ignored);
    if (entry.is_directory(ignored)) {
      if (is_link && ++linked_folders_ > kMaxLinkedFolders) {
        return absl::InvalidArgumentError(absl::StrCat(entry.path().string(),
                                                       ": is one of more than ", kMaxLinkedFolders,
                                                       " links to folders"));
      }
      return List(entry.path());
    }
    // A link that leads nowhere is listed, too: whoever wants to read it learns so.
    if (entry.is_regular_file(ignored) || (is_link && !entry.exists(ignored)))
      files_.push_back(entry.path().string());
    return absl::OkStatus();
  }

  std::vector<std::pair<dev_t, ino_t>> above_;  // the folders from the first to the current one
  int linked_folders_ = 0;
  std::vector<std::string> files_;
};

class FolderSource : public RawSource {
 public:
  static absl::StatusOr<std::unique_ptr<RawSource>> Open(const std::string& path) {
    auto source = std::make_unique<FolderSource>(path);
    FolderLister lister;
    LRA_RETURN_IF_ERROR(lister.List(path));
    source->files_ = lister.TakeFiles();
    std::sort(source->files_.begin(), source->files_.end());
    for (const std::string& file : source->files_) {
      source->sizes_bytes_.push_back(FileSizeBytes(file).value_or(0));
      source->all_bytes_ += source->sizes_bytes_.back();
    }
    return source;
  }

  explicit FolderSource(std::string path) : name_(std::move(path)) {}
  ~FolderSource() override { Close(); }

  absl::StatusOr<std::optional<RawEntry>> Next() override {
    Close();
    if (next_ == files_.size()) return std::nullopt;
    done_bytes_ += next_ == 0 ? 0 : sizes_bytes_[next_ - 1];
    path_ = files_[next_++];
    read_bytes_ = 0;
    NoteProgress();
    return RawEntry{absl::Utf8SafeCEscape(fs::path(path_).lexically_relative(name_).string())};
  }

  // The file is opened at the first read, because a folder may hold many files that nobody asks
  // for.
  absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) override {
    if (descriptor_ < 0) descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t count = -1;
    if (descriptor_ >= 0) {
      do {
        count = read(descriptor_, buffer, size_bytes);
      } while (count < 0 && errno == EINTR);
    }
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read \"", path_, "\""));
    read_bytes_ += count;
    NoteProgress();
    return static_cast<size_t>(count);
  }

  const std::string& name() const override { return name_; }
  double fraction_read() const override { return fraction_; }

 private:
  // Files that are skipped count as read.
  void NoteProgress() {
    if (all_bytes_ == 0) return;
    fraction_ = static_cast<double>(done_bytes_ + read_bytes_) / static_cast<double>(all_bytes_);
  }
  void Close() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  }

  const std::string name_;
  std::vector<std::string> files_;
  std::vector<int64_t> sizes_bytes_;  // of files_, in the same order
  int64_t all_bytes_ = 0, done_bytes_ = 0, read_bytes_ = 0;
  size_t next_ = 0;
  std::atomic<double> fraction_{0};
  std::string path_;
  int descriptor_ = -1;
};

class ArchiveSource : public RawSource {
 public:
  // `path` is empty for standard input.
  static absl::StatusOr<std::unique_ptr<RawSource>> Open(const std::string& path) {
    auto source =
        std::make_unique<ArchiveSource>(path.empty() ? std::string("standard input") : path);
    LRA_ASSIGN_OR_RETURN(source->input_, ArchiveInput::Open(path));
    if (source->input_->Start(source->archive_) != ARCHIVE_OK) return source->Error();
    if (!path.empty()) source->size_bytes_ = FileSizeBytes(path).value_or(0);
    return source;
  }

  explicit ArchiveSource(std::string name) : name_(std::move(name)), archive_(archive_read_new()) {}
  ~ArchiveSource() override { archive_read_free(archive_); }

  absl::StatusOr<std::optional<RawEntry>> Next() override {
    while (!at_end_) {
      LRA_RETURN_IF_ERROR(Skip());
      const int64_t read_bytes = archive_filter_bytes(archive_, 0);
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(archive_, &entry);
      if (code == ARCHIVE_EOF) {
        at_end_ = true;
        if (archive_filter_bytes(archive_, 0) == read_bytes && IsTar()) return NoEndMark();
        LRA_RETURN_IF_ERROR(FinishInput());
        return std::nullopt;
      }
      if (code == ARCHIVE_RETRY) continue;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return Error();
      in_entry_ = true;
      entry_ = NameOf(entry);
      link_ = LinkOf(entry);
      if (!link_.empty()) return RawEntry{entry_, /*is_link=*/true};
      if (archive_entry_filetype(entry) == AE_IFREG) return RawEntry{entry_};
    }
    return std::nullopt;  // libarchive must not be called again after the end
  }

  absl::StatusOr<size_t> Read(char* buffer, size_t size_bytes) override {
    if (!link_.empty()) {
      return absl::DataLossError(absl::StrCat(
          name_, ", entry ", entry_, ": is ", link_,
          "; links in an archive are not followed: pack the files themselves (tar --dereference "
          "--hard-dereference)"));
    }
    while (true) {
      const la_ssize_t count = archive_read_data(archive_, buffer, size_bytes);
      NoteProgress();
      if (count >= 0) return static_cast<size_t>(count);
      if (count != ARCHIVE_RETRY) return Error();
    }
  }

  const std::string& name() const override { return name_; }
  double fraction_read() const override { return fraction_; }

 private:
  static std::string NameOf(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    return name == nullptr ? "(a name that cannot be read)" : absl::Utf8SafeCEscape(name);
  }

  // "a hard link to NAME"; empty for an entry that is no link. A hard link is so even where it has
  // content of its own, as pax allows.
  static std::string LinkOf(archive_entry* entry) {
    const char* hard = archive_entry_hardlink(entry);
    if (hard == nullptr) hard = archive_entry_hardlink_utf8(entry);
    const char* symbolic = archive_entry_symlink(entry);
    if (symbolic == nullptr) symbolic = archive_entry_symlink_utf8(entry);
    if (hard != nullptr) return absl::StrCat("a hard link to ", absl::Utf8SafeCEscape(hard));
    if (symbolic != nullptr) return absl::StrCat("a link to ", absl::Utf8SafeCEscape(symbolic));
    return archive_entry_filetype(entry) == AE_IFLNK ? "a link" : "";
  }

  // Skips the rest of the current entry.
  absl::Status Skip() {
    if (!std::exchange(in_entry_, false)) return absl::OkStatus();
    const int code = archive_read_data_skip(archive_);
    return code == ARCHIVE_FATAL || code == ARCHIVE_FAILED ? Error() : absl::OkStatus();
  }

  // The fraction read is counted in bytes of the packed file.
  void NoteProgress() {
    if (size_bytes_ == 0) return;
    fraction_ =
        static_cast<double>(input_->PackedBytesRead(archive_)) / static_cast<double>(size_bytes_);
  }

  bool IsTar() const {
    return (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  }

  // libarchive would accept a tar that was cut off between two entries, so the end mark is checked
  // here.
  absl::Status NoEndMark() const {
    return absl::DataLossError(absl::StrCat(name_, ": the tar ends behind entry ", entry_,
                                            " without a block of zeros: it was cut off"));
  }

  absl::Status FinishInput() {
    const absl::Status status = input_->Finish();
    return status.ok() ? status
                       : absl::DataLossError(absl::StrCat(name_, ": behind entry ", entry_, ": ",
                                                          status.message()));
  }

  absl::Status Error() const {
    const char* words = archive_error_string(archive_);
    const std::string where = entry_.empty() ? name_ : absl::StrCat(name_, ", entry ", entry_);
    return absl::DataLossError(absl::StrCat(
        where, ": ", words == nullptr ? "cannot be read" : words,
        entry_.empty() ? "; a folder, a tar (also compressed) or a zip is expected" : ""));
  }

  const std::string name_;
  archive* const archive_;
  std::unique_ptr<ArchiveInput> input_;
  int64_t size_bytes_ = 0;  // 0 = unknown
  std::atomic<double> fraction_{0};
  std::string entry_, link_;  // link_: what kind of link the entry is, and to what
  bool in_entry_ = false, at_end_ = false;
};

absl::Status AppendUpTo(size_t max_bytes, absl::string_view block, std::string* bytes) {
  if (block.size() > max_bytes - bytes->size())
    return absl::DataLossError(absl::StrCat("holds more than ", max_bytes, " bytes"));
  absl::StrAppend(bytes, block);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Inflate(absl::string_view file, size_t max_bytes) {
  Gunzip gunzip([&file] { return std::exchange(file, {}); });
  std::string bytes;
  while (true) {
    LRA_ASSIGN_OR_RETURN(const absl::string_view block, gunzip.Next());
    if (block.empty()) return bytes;
    LRA_RETURN_IF_ERROR(AppendUpTo(max_bytes, block, &bytes));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawSource>> OpenRawSource(absl::string_view path) {
  const std::string name(path);
  if (name == "-") return ArchiveSource::Open("");
  if (!FileExists(name))
    return absl::NotFoundError(absl::StrCat("no file or folder \"", name, "\""));
  std::error_code error;
  if (fs::is_directory(name, error)) return FolderSource::Open(name);
  return ArchiveSource::Open(name);
}

absl::StatusOr<std::string> Decompress(absl::string_view file, size_t max_bytes) {
  if (Gunzip::Knows(file)) return Inflate(file, max_bytes);
  const std::unique_ptr<archive, int (*)(archive*)> handle(archive_read_new(), archive_read_free);
  const auto fail = [&handle] {
    const char* words = archive_error_string(handle.get());
    return absl::DataLossError(words == nullptr ? "cannot be decompressed" : words);
  };
  AllowCompression(handle.get());
  archive_read_support_format_raw(handle.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(handle.get(), file.data(), file.size()) != ARCHIVE_OK ||
      archive_read_next_header(handle.get(), &entry) != ARCHIVE_OK)
    return fail();
  std::string bytes, block(kBlockBytes, '\0');
  while (true) {
    const la_ssize_t count = archive_read_data(handle.get(), block.data(), block.size());
    if (count < 0) return fail();
    if (count == 0) return bytes;
    LRA_RETURN_IF_ERROR(AppendUpTo(
        max_bytes, absl::string_view(block).substr(0, static_cast<size_t>(count)), &bytes));
  }
}

}  // namespace lra
