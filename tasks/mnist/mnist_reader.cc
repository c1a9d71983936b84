#include "tasks/mnist/mnist_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "tasks/mnist/idx.h"
#include "tasks/raw_files.h"

namespace lra::mnist {
namespace {

// Images of a split at its number, labels two behind.
constexpr absl::string_view kFiles[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte",
                                        "train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"};
constexpr size_t kHeaderBytes = 16;

class MnistReader : public RawReader {
 public:
  MnistReader(std::unique_ptr<RawSource> source, const MnistOptions& options)
      : source_(std::move(source)),
        images_{static_cast<uint32_t>(options.train_images()),
                static_cast<uint32_t>(options.test_images())} {}

  bool is_ordered() const override { return false; }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (place_ == pixels_.size()) {
      LRA_ASSIGN_OR_RETURN(const bool found, NextFile());
      if (!found) return std::nullopt;
    }
    RawExample raw;
    raw.split = split_;
    raw.bytes = pixels_.substr(place_, kImageBytes);
    raw.key = Key(split_, place_ / kImageBytes);
    raw.where = absl::StrCat(kFiles[split_], ", image ", place_ / kImageBytes);
    place_ += kImageBytes;
    return raw;
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<OrderedExample> order;
    for (int split = 0; split < 2; ++split) {
      for (uint32_t i = 0; i < images_[split]; ++i)
        order.push_back({Key(split, i), split, static_cast<uint8_t>(labels_[split][i])});
    }
    return order;
  }

 private:
  static uint64_t Key(int split, uint64_t image) { return uint64_t(split) << 32 | image; }

  // Index in kFiles, or -1.
  static int FileNumber(absl::string_view path) {
    absl::string_view name = path.substr(path.rfind('/') + 1);
    absl::ConsumeSuffix(&name, ".gz");
    const auto* file = std::find(std::begin(kFiles), std::end(kFiles), name);
    return file == std::end(kFiles) ? -1 : static_cast<int>(file - kFiles);
  }

  // Reads files until one of images; false at the end.
  absl::StatusOr<bool> NextFile() {
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) {
        LRA_RETURN_IF_ERROR(CheckComplete());
        return false;
      }
      const int file = FileNumber(entry->name);
      if (file < 0) continue;
      if (std::exchange(seen_[file], true)) {
        return absl::DataLossError(
            absl::StrCat(source_->name(), " holds ", kFiles[file], " twice"));
      }
      LRA_ASSIGN_OR_RETURN(std::string bytes,
                           ReadWholeEntry(source_.get(), *entry, MaxFileBytes()));
      LRA_RETURN_IF_ERROR(Annotate(KeepFile(file, entry->name, std::move(bytes)), entry->name));
      if (file < 2) return true;
    }
  }

  // Enough for another of the four files: where two are swapped, a header says best what is wrong.
  size_t MaxFileBytes() const {
    return 2 * kHeaderBytes + size_t{kImageBytes} * std::max(images_[0], images_[1]);
  }

  absl::Status KeepFile(int file, absl::string_view name, std::string bytes) {
    const int split = file % 2;
    if (absl::EndsWith(name, ".gz")) {
      LRA_ASSIGN_OR_RETURN(bytes, Decompress(bytes, MaxFileBytes()));
    }
    Sha256 hash;  // of what is inside, so that it does not depend on the compression
    hash.Update(bytes.data(), bytes.size());
    ManifestSource& source = sources_.emplace_back();
    source.set_name(std::string(kFiles[file]));
    source.set_size_bytes(static_cast<int64_t>(bytes.size()));
    source.set_sha256(ToHex(hash.Finish()));
    std::vector<uint32_t> sizes = {images_[split]};
    if (file < 2) sizes.insert(sizes.end(), {kSide, kSide});
    LRA_ASSIGN_OR_RETURN(const absl::string_view array, ParseIdx(bytes, sizes));
    if (file >= 2) return KeepLabels(split, array);
    split_ = split;
    pixels_ = std::string(array);
    place_ = 0;
    return absl::OkStatus();
  }

  absl::Status KeepLabels(int split, absl::string_view labels) {
    for (size_t i = 0; i < labels.size(); ++i) {
      const int label = static_cast<uint8_t>(labels[i]);
      if (label < kClasses) continue;
      return absl::DataLossError(
          absl::StrCat("label ", i, " is ", label, ", must be 0 to ", kClasses - 1));
    }
    labels_[split] = std::string(labels);
    return absl::OkStatus();
  }

  absl::Status CheckComplete() {
    std::vector<absl::string_view> missing;
    for (size_t i = 0; i < std::size(kFiles); ++i) {
      if (!seen_[i]) missing.push_back(kFiles[i]);
    }
    if (!missing.empty()) {
      return absl::NotFoundError(absl::StrCat(source_->name(), " has no file ",
                                              absl::StrJoin(missing, ", "), " (or .gz)"));
    }
    std::sort(sources_.begin(), sources_.end(),
              [](const ManifestSource& a, const ManifestSource& b) { return a.name() < b.name(); });
    return absl::OkStatus();
  }

  const std::unique_ptr<RawSource> source_;
  const uint32_t images_[2];
  bool seen_[4] = {};
  std::string labels_[2];
  // The file of images that is handed out.
  int split_ = 0;
  std::string pixels_;
  size_t place_ = 0;
  std::vector<ManifestSource> sources_;
};

}  // namespace

std::unique_ptr<RawReader> MakeMnistReader(std::unique_ptr<RawSource> source,
                                           const MnistOptions& options) {
  return std::make_unique<MnistReader>(std::move(source), options);
}

}  // namespace lra::mnist
