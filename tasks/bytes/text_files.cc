#include "tasks/bytes/text_files.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lra/random.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "tasks/bytes/held_out.h"
#include "tasks/raw_files.h"

namespace lra::bytes {
namespace {

constexpr absl::string_view kSplits[] = {"train", "test"};
// Where no folder says a file's split.
constexpr int kUnsplit = -1;
// A key is a file's number over a piece's.
constexpr int kPieceBits = 32;

// The split whose folder comes first in the path, or kUnsplit.
int SplitOf(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    for (int split = 0; split < 2; ++split) {
      if (parts[i] == kSplits[split]) return split;
    }
  }
  return kUnsplit;
}

// What of a path does not depend on where the folder of splits lies.
std::string PathInSplit(absl::string_view path, int split) {
  const std::string folder = absl::StrCat(kSplits[split], "/");
  if (absl::StartsWith(path, folder)) return std::string(path);
  return std::string(path.substr(path.find(absl::StrCat("/", folder)) + 1));
}

// A file *.txt that was read.
struct File {
  int split = kUnsplit;
  std::string path;
  uint64_t number = 0;
  Sha256Digest digest{};
  int64_t size_bytes = 0;
  absl::Status read;  // why it could not be read
  uint64_t pieces = 0;
  uint64_t train_pieces = 0;  // so many from its beginning; the others test
};

// The length of the folder, with its slash, that all files lie in.
size_t CommonFolderLength(const std::vector<File>& files) {
  if (files.empty()) return 0;
  absl::string_view folder = files.front().path;
  folder = folder.substr(0, folder.rfind('/') + 1);
  for (const File& file : files) {
    while (!absl::StartsWith(file.path, folder)) {
      folder.remove_suffix(1);
      folder = folder.substr(0, folder.rfind('/') + 1);
    }
  }
  return folder.size();
}

class TextFilesReader : public RawReader {
 public:
  TextFilesReader(std::unique_ptr<RawSource> source, const BytesOptions& options)
      : source_(std::move(source)), options_(options) {}

  bool is_ordered() const override { return false; }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (place_ == text_.size()) {
      LRA_ASSIGN_OR_RETURN(const bool found, NextFile());
      if (!found) return std::nullopt;
    }
    File& file = files_.back();
    RawExample raw;  // Order names its split
    raw.bytes = text_.substr(place_, options_.piece_bytes());
    raw.where = absl::StrCat(entry_.name, ", byte ", place_);
    raw.key = file.number << kPieceBits | file.pieces++;
    place_ += raw.bytes.size();
    return raw;
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<const File*> files;
    for (const File& file : files_) files.push_back(&file);
    std::sort(files.begin(), files.end(),
              [](const File* a, const File* b) { return a->path < b->path; });
    for (size_t f = 1; f < files.size(); ++f) {
      if (files[f - 1]->path == files[f]->path)
        return absl::DataLossError(
            absl::StrCat(source_->name(), " holds ", files[f]->path, " twice"));
    }
    std::vector<OrderedExample> order;
    const auto add = [&order](const File& file, int split, uint64_t first, uint64_t end) {
      for (uint64_t piece = first; piece < end; ++piece)
        order.push_back({file.number << kPieceBits | piece, split, std::nullopt});
    };
    for (const File* file : files) add(*file, 0, 0, file->train_pieces);
    for (const File* file : files) add(*file, 1, file->train_pieces, file->pieces);
    return order;
  }

  std::vector<SkippedExamples> skipped() const override {
    std::vector<SkippedExamples> all;
    const auto add = [&all](absl::string_view reason, int64_t count) {
      if (count == 0) return;
      all.emplace_back().set_reason(std::string(reason));
      all.back().set_count(count);
    };
    add("files that the option skip names", skipped_);
    add("empty files", empty_);
    add("hidden files", hidden_);
    return all;
  }

 private:
  bool IsSkipped(absl::string_view path) const {
    const std::string whole = absl::StrCat("/", path);
    return std::any_of(options_.skip().begin(), options_.skip().end(),
                       [&](const std::string& part) { return absl::StrContains(whole, part); });
  }

  // Reads the next text that is not empty; false at the end.
  absl::StatusOr<bool> NextFile() {
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) {
        LRA_RETURN_IF_ERROR(Close());
        return false;
      }
      entry_ = *std::move(entry);
      if (IsHidden(entry_.name)) {  // macOS puts one beside each file of an archive
        hidden_ += absl::EndsWith(entry_.name, ".txt") ? 1 : 0;
        continue;
      }
      File file;
      file.split = SplitOf(entry_.name);
      has_splits_ = has_splits_ || file.split != kUnsplit;
      if (!absl::EndsWith(entry_.name, ".txt")) continue;
      if (file.split == kUnsplit) {
        if (has_splits_) continue;
        file.path = entry_.name;
      } else {
        file.path = PathInSplit(entry_.name, file.split);
        if (IsSkipped(file.path)) {
          ++skipped_;
          continue;
        }
      }
      LRA_RETURN_IF_ERROR(Read(std::move(file)));
      if (!text_.empty()) return true;
    }
  }

  // Until a split's folder is met, a file in none may be a text or not: what is wrong with it waits
  // until that is known.
  absl::Status Read(File file) {
    absl::StatusOr<std::string> text =
        ReadWholeEntry(source_.get(), entry_, options_.max_file_bytes());
    if (!text.ok() && file.split != kUnsplit) return text.status();
    file.read = text.status();
    text_ = text.ok() ? *std::move(text) : "";
    place_ = 0;
    file.number = next_number_++;
    file.digest = Sha256Of(text_);
    file.size_bytes = static_cast<int64_t>(text_.size());
    files_.push_back(std::move(file));
    return absl::OkStatus();
  }

  std::string SkippedText() const {
    if (skipped_ == 0) return "";
    return absl::StrCat("; ", skipped_, skipped_ == 1 ? " file was" : " files were",
                        " passed over, because the option skip names ",
                        absl::StrJoin(options_.skip(), ", "));
  }

  absl::Status Close() {
    if (has_splits_) {
      std::erase_if(files_, [](const File& file) { return file.split == kUnsplit; });
    } else {
      LRA_RETURN_IF_ERROR(ChooseTexts());
    }
    empty_ = static_cast<int64_t>(
        std::erase_if(files_, [](const File& file) { return file.size_bytes == 0; }));
    return has_splits_ ? SplitByFolder() : SplitByDigest();
  }

  // Where there are no folders of splits all files are texts, but for those that the option names.
  absl::Status ChooseTexts() {
    const size_t above = CommonFolderLength(files_);
    for (File& file : files_) file.path.erase(0, above);
    skipped_ = static_cast<int64_t>(
        std::erase_if(files_, [this](const File& file) { return IsSkipped(file.path); }));
    for (const File& file : files_) LRA_RETURN_IF_ERROR(file.read);
    return absl::OkStatus();
  }

  absl::Status SplitByFolder() {
    FileSet sets[2];
    for (File& file : files_) {
      file.train_pieces = file.split == 0 ? file.pieces : 0;
      sets[file.split].Add(HashName(file.path), file.digest, file.size_bytes);
    }
    for (int split = 0; split < 2; ++split) {
      if (sets[split].empty()) {
        return absl::NotFoundError(absl::StrCat(
            source_->name(), " has no texts ", kSplits[split],
            "/…/NAME.txt; both train/ and test/ are needed, or neither", SkippedText()));
      }
      sources_.push_back(sets[split].Source(kSplits[split]));
    }
    return absl::OkStatus();
  }

  absl::Status SplitByDigest() {
    if (files_.empty()) {
      return absl::NotFoundError(
          absl::StrCat(source_->name(), " has no texts: no file NAME.txt that is not empty, in ",
                       "train/ and test/ or anywhere", SkippedText()));
    }
    FileSet set;
    std::vector<Text> texts;
    for (const File& file : files_) {
      set.Add(0, file.digest, file.size_bytes);  // in the order of digests, whatever the names
      texts.push_back({file.digest, file.pieces});
    }
    const absl::StatusOr<std::vector<uint64_t>> train = TrainPieces(texts);
    LRA_RETURN_IF_ERROR(Annotate(train.status(), source_->name()));
    for (size_t f = 0; f < files_.size(); ++f) files_[f].train_pieces = (*train)[f];
    sources_.push_back(set.Source("texts (a tenth is test, by SHA-256)"));
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const BytesOptions options_;
  RawEntry entry_;
  std::string text_;
  size_t place_ = 0;  // in text_
  // Whether the source has a folder train/ or test/.
  bool has_splits_ = false;
  std::vector<File> files_;
  uint64_t next_number_ = 0;
  std::vector<ManifestSource> sources_;
  int64_t skipped_ = 0, empty_ = 0, hidden_ = 0;
};

}  // namespace

std::unique_ptr<RawReader> MakeTextFilesReader(std::unique_ptr<RawSource> source,
                                               const BytesOptions& options) {
  return std::make_unique<TextFilesReader>(std::move(source), options);
}

}  // namespace lra::bytes
