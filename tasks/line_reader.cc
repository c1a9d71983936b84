#include "tasks/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/excerpt.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

// How much of a header a message quotes.
constexpr size_t kExcerptBytes = 60;

class LineReader : public RawReader {
 public:
  LineReader(std::unique_ptr<RawSource> source, LineFiles files)
      : source_(std::move(source)), files_(std::move(files)), seen_(files_.names.size()) {}

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (true) {
      if (split_ < 0) {
        LRA_ASSIGN_OR_RETURN(const bool found, NextFile());
        if (!found) return std::nullopt;
        LRA_RETURN_IF_ERROR(CheckHeader());
      }
      LRA_ASSIGN_OR_RETURN(const std::optional<absl::string_view> line, NextLine());
      if (line.has_value()) {
        ++examples_;
        return RawExample{split_, std::string(*line), Where()};
      }
      LRA_RETURN_IF_ERROR(CloseFile());
    }
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

 private:
  std::string Where() const { return absl::StrCat(file_, ":", line_); }

  // Number of the split whose file this is, or -1.
  int SplitOf(absl::string_view path) const {
    const absl::string_view name = path.substr(path.rfind('/') + 1);
    const auto it = std::find(files_.names.begin(), files_.names.end(), name);
    return it == files_.names.end() ? -1 : static_cast<int>(it - files_.names.begin());
  }

  absl::StatusOr<bool> NextFile() {
    if (std::find(seen_.begin(), seen_.end(), false) == seen_.end()) return false;
    while (true) {
      LRA_ASSIGN_OR_RETURN(const std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) return MissingFile();
      const int split = SplitOf(entry->name);
      if (split < 0) continue;
      file_ = entry->name;
      if (seen_[split]) {
        return absl::DataLossError(absl::StrCat(source_->name(), " holds ", files_.names[split],
                                                " twice, the second time as ", file_));
      }
      seen_[split] = true;
      split_ = split;
      line_ = 0;
      examples_ = 0;
      size_bytes_ = 0;
      buffer_.clear();
      begin_ = 0;
      at_end_ = false;
      return true;
    }
  }

  absl::Status MissingFile() const {
    std::vector<std::string> missing;
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!seen_[i]) missing.push_back(files_.names[i]);
    }
    return absl::NotFoundError(
        absl::StrCat(source_->name(), " has no file ", absl::StrJoin(missing, ", ")));
  }

  absl::Status CheckHeader() {
    if (files_.header.empty()) return absl::OkStatus();
    LRA_ASSIGN_OR_RETURN(const std::optional<absl::string_view> line, NextLine());
    if (!line.has_value()) return absl::DataLossError(absl::StrCat(file_, ": the file is empty"));
    if (*line == files_.header) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(Where(), ": the header is ",
                                            Excerpt(*line, kExcerptBytes), ", not ",
                                            Excerpt(files_.header, kExcerptBytes)));
  }

  absl::Status CloseFile() {
    if (examples_ == 0) {
      return absl::DataLossError(absl::StrCat(file_, ":", line_, ": the file has no examples"));
    }
    ManifestSource source;
    // The name is given without its folder, so that the same files make the same manifest from a
    // folder, an archive or a pipe.
    source.set_name(files_.names[split_]);
    source.set_size_bytes(size_bytes_);
    source.set_sha256(ToHex(hash_.Finish()));
    sources_.push_back(std::move(source));
    split_ = -1;
    return absl::OkStatus();
  }

  // The line without its end, valid until the next call; nullopt at the end of the file.
  absl::StatusOr<std::optional<absl::string_view>> NextLine() {
    size_t searched = begin_;
    while (true) {
      const size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) {
        ++line_;
        absl::string_view line(buffer_.data() + begin_, end - begin_);
        begin_ = end + 1;
        if (line.size() > kMaxLineBytes) return TooLong();
        if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
        return line;
      }
      if (at_end_) return LastLine();
      if (buffer_.size() - begin_ > kMaxLineBytes) {
        ++line_;
        return TooLong();
      }
      buffer_.erase(0, std::exchange(begin_, 0));
      searched = buffer_.size();
      LRA_RETURN_IF_ERROR(Fill());
    }
  }

  absl::StatusOr<std::optional<absl::string_view>> LastLine() {
    if (begin_ == buffer_.size()) return std::nullopt;
    ++line_;
    return absl::DataLossError(
        absl::StrCat(Where(), ": the last line has no line end: the file was cut off"));
  }

  absl::Status TooLong() const {
    return absl::DataLossError(
        absl::StrCat(Where(), ": the line is longer than ", kMaxLineBytes, " bytes"));
  }

  absl::Status Fill() {
    const size_t held = buffer_.size();
    buffer_.resize(held + kBlockBytes);
    const absl::StatusOr<size_t> count = source_->Read(buffer_.data() + held, kBlockBytes);
    buffer_.resize(held + count.value_or(0));
    LRA_RETURN_IF_ERROR(count.status());
    at_end_ = *count == 0;
    hash_.Update(buffer_.data() + held, *count);
    size_bytes_ += static_cast<int64_t>(*count);
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const LineFiles files_;
  std::vector<bool> seen_;  // one for each split
  std::vector<ManifestSource> sources_;
  // The current file; split_ is -1 between files.
  int split_ = -1;
  std::string file_;
  int64_t line_ = 0, examples_ = 0, size_bytes_ = 0;
  Sha256 hash_;
  std::string buffer_;
  size_t begin_ = 0;  // where the part of the buffer begins that was not returned yet
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<RawReader> MakeLineReader(std::unique_ptr<RawSource> source, LineFiles files) {
  return std::make_unique<LineReader>(std::move(source), std::move(files));
}

}  // namespace lra
