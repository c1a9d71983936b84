#include "tasks/image/cifar_reader.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "tasks/image/cifar_binary.h"
#include "tasks/image/cifar_pickle.h"
#include "tasks/raw_files.h"

namespace lra::image {
namespace {

constexpr std::array<absl::string_view, 6> kFiles = {"data_batch_1", "data_batch_2", "data_batch_3",
                                                     "data_batch_4", "data_batch_5", "test_batch"};
constexpr size_t kMaxPickleBytes = size_t{64} << 20;

class CifarReader : public RawReader {
 public:
  CifarReader(std::unique_ptr<RawSource> source, int32_t images_per_file)
      : source_(std::move(source)), images_per_file_(images_per_file) {}

  bool is_ordered() const override { return false; }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (true) {
      if (file_ < 0) {
        LRA_ASSIGN_OR_RETURN(const bool found, NextFile());
        if (!found) return std::nullopt;
      }
      if (record_ == images_per_file_) {
        LRA_RETURN_IF_ERROR(CloseFile());
        continue;
      }
      RawExample raw;
      raw.split = file_ == 5 ? 1 : 0;
      raw.where = entry_.name;
      raw.key = Key(file_, record_);
      if (is_pickle_) {
        raw.bytes = PickleRecord(record_);
      } else {
        LRA_ASSIGN_OR_RETURN(raw.bytes, ReadRecord());
      }
      ++record_;
      return raw;
    }
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<OrderedExample> order;
    for (int file = 0; file < 6; ++file) {
      for (int32_t i = 0; i < images_per_file_; ++i) {
        order.push_back({Key(file, i), file == 5 ? 1 : 0, std::nullopt});
      }
    }
    return order;
  }

 private:
  static uint64_t Key(int file, int64_t record) {
    return (static_cast<uint64_t>(file) << 32) | static_cast<uint64_t>(record);
  }

  // Index of the file in kFiles, or -1.
  int FileNumber(absl::string_view path) {
    absl::string_view name = path.substr(path.rfind('/') + 1);
    is_pickle_ = !absl::ConsumeSuffix(&name, ".bin");
    for (size_t i = 0; i < kFiles.size(); ++i) {
      if (name == kFiles[i]) return static_cast<int>(i);
    }
    return -1;
  }

  absl::StatusOr<bool> NextFile() {
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) {
        if (sources_.size() < kFiles.size()) return Missing();
        return false;
      }
      const int file = FileNumber(entry->name);
      if (file < 0) continue;
      if (seen_[file]) {
        return absl::DataLossError(absl::StrCat(source_->name(), " holds ", kFiles[file],
                                                " twice, the second time as ", entry->name));
      }
      seen_[file] = true;
      file_ = file;
      entry_ = *std::move(entry);
      record_ = 0;
      size_bytes_ = 0;
      if (is_pickle_) LRA_RETURN_IF_ERROR(LoadPickle());
      return true;
    }
  }

  absl::Status Missing() const {
    std::vector<absl::string_view> missing;
    for (size_t i = 0; i < kFiles.size(); ++i) {
      if (!seen_[i]) missing.push_back(kFiles[i]);
    }
    return absl::NotFoundError(absl::StrCat(
        source_->name(), " has no file ", absl::StrJoin(missing, ", "), " (with or without .bin)"));
  }

  absl::Status LoadPickle() {
    LRA_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadWholeEntry(source_.get(), entry_, kMaxPickleBytes));
    hash_.Update(bytes.data(), bytes.size());
    size_bytes_ = static_cast<int64_t>(bytes.size());
    absl::StatusOr<CifarBatch> pickle = ParseCifarPickle(bytes);
    if (!pickle.ok()) {
      return absl::DataLossError(absl::StrCat(entry_.name, ": ", pickle.status().message()));
    }
    pickle_ = *std::move(pickle);
    const int64_t images = pickle_.size();
    if (images == images_per_file_) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(entry_.name, ": holds ", images, " images, not ", images_per_file_));
  }

  std::string PickleRecord(int64_t i) const {
    std::string record(1, static_cast<char>(pickle_.labels[i]));
    record.append(reinterpret_cast<const char*>(pickle_.pixels.data()) + i * kCifarImageBytes,
                  kCifarImageBytes);
    return record;
  }

  // Reads up to `size` bytes, fewer at the end of the file.
  absl::StatusOr<std::string> ReadUpTo(size_t size) {
    std::string bytes(size, '\0');
    size_t held = 0;
    while (held < size) {
      LRA_ASSIGN_OR_RETURN(const size_t count, source_->Read(bytes.data() + held, size - held));
      if (count == 0) break;
      held += count;
    }
    bytes.resize(held);
    hash_.Update(bytes.data(), bytes.size());
    size_bytes_ += static_cast<int64_t>(held);
    return bytes;
  }

  absl::StatusOr<std::string> ReadRecord() {
    LRA_ASSIGN_OR_RETURN(std::string record, ReadUpTo(kCifarRecordBytes));
    if (record.size() == kCifarRecordBytes) return record;
    return absl::DataLossError(
        absl::StrCat(entry_.name, ": ends after ", size_bytes_, " bytes, in image ", record_,
                     " of ", images_per_file_, "; a file has ",
                     int64_t{kCifarRecordBytes} * images_per_file_, " bytes"));
  }

  absl::Status CloseFile() {
    if (!is_pickle_) {
      LRA_ASSIGN_OR_RETURN(const std::string more, ReadUpTo(1));
      if (!more.empty()) {
        return absl::DataLossError(absl::StrCat(entry_.name, ": goes on after its ",
                                                images_per_file_, " images, at byte ",
                                                size_bytes_ - 1));
      }
    }
    ManifestSource source;
    source.set_name(entry_.name.substr(entry_.name.rfind('/') + 1));
    source.set_size_bytes(size_bytes_);
    source.set_sha256(ToHex(hash_.Finish()));
    sources_.push_back(std::move(source));
    pickle_ = {};
    file_ = -1;
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const int32_t images_per_file_;
  std::array<bool, 6> seen_{};
  std::vector<ManifestSource> sources_;
  // The current file; file_ is -1 between files.
  int file_ = -1;
  RawEntry entry_;
  bool is_pickle_ = false;
  CifarBatch pickle_;
  int64_t record_ = 0, size_bytes_ = 0;
  Sha256 hash_;
};

}  // namespace

std::unique_ptr<RawReader> MakeCifarReader(std::unique_ptr<RawSource> source,
                                           int32_t images_per_file) {
  return std::make_unique<CifarReader>(std::move(source), images_per_file);
}

}  // namespace lra::image
