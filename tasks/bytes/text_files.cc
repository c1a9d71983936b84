#include "tasks/bytes/text_files.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/raw_files.h"

namespace lra::bytes {
namespace {

constexpr absl::string_view kSplits[] = {"train", "test"};
// A key is a file's number over a piece's.
constexpr int kPieceBits = 32;

// The split whose folder comes first in the path, or -1.
int SplitOf(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    for (int split = 0; split < 2; ++split) {
      if (parts[i] == kSplits[split]) return split;
    }
  }
  return -1;
}

// What of a path does not depend on where the folder of splits lies.
std::string PathInSplit(absl::string_view path, int split) {
  const std::string folder = absl::StrCat(kSplits[split], "/");
  if (absl::StartsWith(path, folder)) return std::string(path);
  return std::string(path.substr(path.find(absl::StrCat("/", folder)) + 1));
}

struct File {
  int split = 0;
  std::string path;
  uint64_t number = 0;
  uint64_t pieces = 0;
  bool operator<(const File& other) const {
    return std::tie(split, path) < std::tie(other.split, other.path);
  }
};

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
    RawExample raw;
    raw.split = file.split;
    raw.bytes = text_.substr(place_, options_.piece_bytes());
    raw.where = absl::StrCat(entry_.name, ", byte ", place_);
    raw.key = file.number << kPieceBits | file.pieces++;
    place_ += raw.bytes.size();
    return raw;
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<File> files = files_;
    std::sort(files.begin(), files.end());
    std::vector<OrderedExample> order;
    for (size_t f = 0; f < files.size(); ++f) {
      if (f > 0 && !(files[f - 1] < files[f]))
        return absl::DataLossError(
            absl::StrCat(source_->name(), " holds ", files[f].path, " twice"));
      for (uint64_t piece = 0; piece < files[f].pieces; ++piece)
        order.push_back({files[f].number << kPieceBits | piece, files[f].split, std::nullopt});
    }
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
    return all;
  }

 private:
  bool IsSkipped(absl::string_view path) const {
    return std::any_of(options_.skip().begin(), options_.skip().end(),
                       [path](const std::string& part) { return absl::StrContains(path, part); });
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
      const int split = SplitOf(entry_.name);
      if (split < 0 || !absl::EndsWith(entry_.name, ".txt")) continue;
      const std::string path = PathInSplit(entry_.name, split);
      if (IsSkipped(absl::StrCat("/", path))) {
        ++skipped_;
        continue;
      }
      LRA_ASSIGN_OR_RETURN(text_, ReadWholeEntry(source_.get(), entry_, options_.max_file_bytes()));
      place_ = 0;
      if (text_.empty()) {
        ++empty_;
        continue;
      }
      files_.push_back({split, path, files_.size(), 0});
      sets_[split].Add(HashName(path), text_);
      return true;
    }
  }

  std::string SkippedText() const {
    if (skipped_ == 0) return "";
    return absl::StrCat("; ", skipped_, skipped_ == 1 ? " file was" : " files were",
                        " passed over, because the option skip names ",
                        absl::StrJoin(options_.skip(), ", "));
  }

  absl::Status Close() {
    sources_.clear();
    for (int split = 0; split < 2; ++split) {
      if (sets_[split].empty()) {
        return absl::NotFoundError(absl::StrCat(source_->name(), " has no texts ", kSplits[split],
                                                "/…/NAME.txt; both train/ and test/ are needed",
                                                SkippedText()));
      }
      sources_.push_back(sets_[split].Source(kSplits[split]));
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const BytesOptions options_;
  RawEntry entry_;
  std::string text_;
  size_t place_ = 0;  // in text_
  std::vector<File> files_;
  FileSet sets_[2];
  std::vector<ManifestSource> sources_;
  int64_t skipped_ = 0, empty_ = 0;
};

}  // namespace

std::unique_ptr<RawReader> MakeTextFilesReader(std::unique_ptr<RawSource> source,
                                               const BytesOptions& options) {
  return std::make_unique<TextFilesReader>(std::move(source), options);
}

}  // namespace lra::bytes
