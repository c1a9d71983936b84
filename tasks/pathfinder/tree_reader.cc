#include "tasks/pathfinder/tree_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lra/status_macros.h"
#include "tasks/pathfinder/metadata.h"
#include "tasks/raw_files.h"

namespace lra::pathfinder {
namespace {

// A 256 x 256 grey image never takes more, and the metadata of a batch has 1,000 lines.
constexpr size_t kMaxPngBytes = size_t{1} << 20;
constexpr size_t kMaxMetadataBytes = size_t{32} << 20;
constexpr absl::string_view kDifficulties[] = {"curv_baseline", "curv_contour_length_9",
                                               "curv_contour_length_14"};

uint64_t Key(int64_t batch, int64_t image) {
  return (static_cast<uint64_t>(batch) << 32) | static_cast<uint64_t>(image);
}

// Parses decimal digits without a leading zero.
std::optional<int32_t> Number(absl::string_view text) {
  int32_t number = 0;
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1) ||
      text.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

struct TreePath {
  bool is_image = false;
  int32_t batch = 0, image = 0;
};

class TreeReader : public RawReader {
 public:
  TreeReader(std::unique_ptr<RawSource> source, TreeOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  bool is_ordered() const override { return false; }

  absl::StatusOr<std::optional<RawExample>> Next() override {
    while (true) {
      LRA_ASSIGN_OR_RETURN(const std::optional<RawEntry> entry, source_->Next());
      if (!entry.has_value()) {
        LRA_RETURN_IF_ERROR(Close());
        return std::nullopt;
      }
      const std::optional<TreePath> path = Parse(entry->name);
      if (!path.has_value()) continue;
      if (!path->is_image) {
        LRA_RETURN_IF_ERROR(ReadMetadata(*entry, path->batch));
        continue;
      }
      LRA_ASSIGN_OR_RETURN(std::optional<RawExample> image, ReadImage(*entry, *path));
      if (image.has_value()) return image;
    }
  }

  const std::vector<ManifestSource>& sources() const override { return sources_; }

  absl::StatusOr<std::vector<OrderedExample>> Order() override {
    std::vector<OrderedExample> order;
    absl::flat_hash_set<uint64_t> ordered;
    for (const auto& [batch, rows] : metadata_) {
      for (const Row& row : rows) {
        const uint64_t key = Key(batch, row.image);
        const std::string where = absl::StrCat("metadata/", batch, ".npy:", row.line);
        if (!ordered.insert(key).second) {
          return absl::DataLossError(
              absl::StrCat(where, ": image ", row.image, " is listed twice"));
        }
        if (empty_.contains(key)) continue;
        if (!images_.contains(key)) {
          return absl::NotFoundError(absl::StrCat(where, ": imgs/", batch, "/sample_", row.image,
                                                  ".png is missing in ", source_->name()));
        }
        order.push_back({key, 0, row.label});
      }
    }
    return CheckAllListed(std::move(order));
  }

  std::vector<SkippedExamples> skipped() const override {
    std::vector<SkippedExamples> all;
    for (const std::string& name : empty_names_) {
      SkippedExamples& entry = all.emplace_back();
      entry.set_reason(absl::StrCat(name, " is empty"));
      entry.set_count(1);
    }
    return all;
  }

 private:
  struct Row {
    int32_t image = 0, label = 0;
    int64_t line = 0;
  };

  // Returns nullopt for a path that is not of this size and difficulty.
  std::optional<TreePath> Parse(absl::string_view name) const {
    const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
    const size_t n = parts.size();
    TreePath path;
    path.is_image = n >= 3 && parts[n - 3] == "imgs";
    if (!path.is_image && !(n >= 2 && parts[n - 2] == "metadata")) return std::nullopt;
    const size_t above = n - (path.is_image ? 3 : 2);
    for (size_t i = 0; i < above; ++i) {
      if (!IsOurs(parts[i])) return std::nullopt;
    }
    absl::string_view file = parts[n - 1];
    std::optional<int32_t> batch, image;
    if (path.is_image) {
      batch = Number(parts[n - 2]);
      if (absl::ConsumePrefix(&file, "sample_") && absl::ConsumeSuffix(&file, ".png")) {
        image = Number(file);
      }
      if (!image.has_value()) return std::nullopt;
    } else if (absl::ConsumeSuffix(&file, ".npy")) {
      batch = Number(file);
    }
    if (!batch.has_value()) return std::nullopt;
    path.batch = *batch;
    path.image = image.value_or(0);
    return path;
  }

  // Whether a folder of the path may lead to our images.
  bool IsOurs(absl::string_view folder) const {
    for (absl::string_view difficulty : kDifficulties) {
      if (folder == difficulty && folder != options_.difficulty_folder) return false;
    }
    absl::string_view size = folder;
    if (!absl::ConsumePrefix(&size, "pathfinder") || !Number(size).has_value()) return true;
    return *Number(size) == options_.side_pixels;
  }

  absl::Status ReadMetadata(const RawEntry& entry, int32_t batch) {
    LRA_ASSIGN_OR_RETURN(const std::string text,
                         ReadWholeEntry(source_.get(), entry, kMaxMetadataBytes));
    const absl::StatusOr<std::vector<MetadataRow>> parsed = ParseMetadata(text, entry.name);
    if (!parsed.ok()) return absl::DataLossError(parsed.status().message());
    auto [at, inserted] = metadata_.try_emplace(batch);
    if (!inserted) {
      return absl::DataLossError(absl::StrCat(entry.name, ": batch ", batch, " was there before"));
    }
    for (const MetadataRow& row : *parsed) {
      if (row.batch != batch) {
        return absl::DataLossError(absl::StrCat(
            entry.name, ":", row.line, ": the path is of batch ", row.batch, ", not ", batch));
      }
      if (row.contour_paddles != 0 && row.contour_paddles != options_.contour_paddles) {
        return absl::DataLossError(absl::StrCat(
            entry.name, ":", row.line, ": the contours have ", row.contour_paddles,
            " dashes, those of ", options_.difficulty_folder, " have ", options_.contour_paddles,
            "; is this another difficulty (--set difficulty=...)?"));
      }
      at->second.push_back({row.image, row.label, row.line});
    }
    metadata_files_.Add(batch, text);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<RawExample>> ReadImage(const RawEntry& entry, const TreePath& path) {
    RawExample raw;
    raw.where = entry.name;
    raw.key = Key(path.batch, path.image);
    if (images_.contains(raw.key) || empty_.contains(raw.key)) {
      return absl::DataLossError(absl::StrCat(entry.name, ": the same image was there before"));
    }
    LRA_ASSIGN_OR_RETURN(raw.bytes, ReadWholeEntry(source_.get(), entry, kMaxPngBytes));
    image_files_.Add(raw.key, raw.bytes);
    if (raw.bytes.empty()) {
      empty_.insert(raw.key);
      empty_names_.insert(absl::StrCat("imgs/", path.batch, "/sample_", path.image, ".png"));
      return std::nullopt;
    }
    images_.insert(raw.key);
    return raw;
  }

  absl::Status Close() {
    const std::string wanted =
        absl::StrCat("pathfinder", options_.side_pixels, "/", options_.difficulty_folder);
    if (metadata_.empty()) {
      return absl::NotFoundError(
          absl::StrCat(source_->name(), " has no metadata/*.npy of ", wanted));
    }
    if (images_.empty()) {
      return absl::NotFoundError(absl::StrCat(source_->name(), " has no images of ", wanted));
    }
    if (empty_names_.size() > 1) {
      return absl::DataLossError(absl::StrCat(
          source_->name(), ": ", empty_names_.size(), " pictures are empty files, first ",
          *empty_names_.begin(), "; the release has one: these were not unpacked whole"));
    }
    sources_ = {image_files_.Source("imgs"), metadata_files_.Source("metadata")};
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OrderedExample>> CheckAllListed(
      std::vector<OrderedExample> order) const {
    if (order.size() == images_.size()) return order;
    absl::flat_hash_set<uint64_t> listed;
    for (const OrderedExample& example : order) listed.insert(example.key);
    uint64_t first = UINT64_MAX;
    for (uint64_t key : images_) {
      if (!listed.contains(key)) first = std::min(first, key);
    }
    return absl::DataLossError(absl::StrCat("imgs/", first >> 32, "/sample_", first & 0xffffffffu,
                                            ".png has no line in metadata/", first >> 32, ".npy"));
  }

  const std::unique_ptr<RawSource> source_;
  const TreeOptions options_;
  std::vector<ManifestSource> sources_;
  std::map<int32_t, std::vector<Row>> metadata_;  // by batch
  absl::flat_hash_set<uint64_t> images_, empty_;
  std::set<std::string> empty_names_;
  FileSet image_files_, metadata_files_;
};

}  // namespace

std::unique_ptr<RawReader> MakeTreeReader(std::unique_ptr<RawSource> source, TreeOptions options) {
  return std::make_unique<TreeReader>(std::move(source), std::move(options));
}

}  // namespace lra::pathfinder
