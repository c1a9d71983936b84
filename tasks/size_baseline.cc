#include "tasks/size_baseline.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/id_content.h"
#include "datasets/png.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kWindowBytes = 32768;  // the format refers no further back
constexpr int64_t kByteIds = 256;
constexpr int kNoHeader = -15;  // of a window of 2^15 bytes
constexpr int kMostMemory = 9;

// The first id is that of byte 0.
void AppendBytes(const SplitView& split, int64_t example, std::vector<int32_t>* ids, Bytes* bytes) {
  split.Read(example, ids);
  const int first = FirstId(split.spec());
  for (const int32_t id : *ids) bytes->push_back(static_cast<uint8_t>(id - first));
}

// The last tokens of the split, a window of deflate.
Bytes EndOf(const SplitView& split) {
  int64_t first = split.size();
  for (size_t tokens = 0; first > 0 && tokens < kWindowBytes;)
    tokens += split.length_tokens(--first);
  Bytes bytes;
  std::vector<int32_t> ids;
  for (int64_t i = first; i < split.size(); ++i) AppendBytes(split, i, &ids, &bytes);
  if (bytes.size() > kWindowBytes) bytes.erase(bytes.begin(), bytes.end() - kWindowBytes);
  return bytes;
}

absl::StatusOr<int64_t> DeflatedBytes(const Bytes& text, const Bytes& dictionary) {
  z_stream stream = {};
  int code = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kNoHeader, kMostMemory,
                          Z_DEFAULT_STRATEGY);
  if (code != Z_OK) return absl::ResourceExhaustedError(absl::StrCat("zlib: error ", code));
  deflateSetDictionary(&stream, dictionary.data(), static_cast<uInt>(dictionary.size()));
  Bytes packed(deflateBound(&stream, text.size()));
  stream.next_in = const_cast<uint8_t*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  code = deflate(&stream, Z_FINISH);
  const auto bytes = static_cast<int64_t>(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return absl::InternalError(absl::StrCat("zlib: error ", code));
  return bytes;
}

// Packers say how many bytes stand for an example's guessed tokens.
class Gzip {
 public:
  explicit Gzip(const SplitView& train) : end_(EndOf(train)) {}
  static std::string WhyNot(const TaskSpec& /*seen*/) { return ""; }

  absl::StatusOr<int64_t> BytesOf(const SplitView& split, int64_t example) const {
    Bytes text, before = end_;
    std::vector<int32_t> ids;
    AppendBytes(split, example, &ids, &text);
    const auto given = text.begin() + split.prompt_tokens(example);
    before.insert(before.end(), text.begin(), given);
    text.erase(text.begin(), given);
    return DeflatedBytes(text, before);
  }

 private:
  const Bytes end_;
};

class Png {
 public:
  explicit Png(const SplitView& /*train*/) {}
  static std::string WhyNot(const TaskSpec& seen) {
    return seen.image_side_pixels() > 0 ? "" : "these are no pictures";
  }

  absl::StatusOr<int64_t> BytesOf(const SplitView& split, int64_t example) const {
    Bytes pixels;
    std::vector<int32_t> ids;
    AppendBytes(split, example, &ids, &pixels);
    const int side = split.spec().image_side_pixels();
    LRA_ASSIGN_OR_RETURN(const std::string file,
                         EncodePng(pixels, side, side, Channels(split.spec())));
    return static_cast<int64_t>(file.size());
  }

 private:
  static int Channels(const TaskSpec& seen) { return std::max(1, seen.pixel_tokens()); }
};

template <class Packer>
class SizeBaseline : public BaselineMethod {
 public:
  explicit SizeBaseline(BaselineFacts facts) : BaselineMethod(std::move(facts)) {}

  std::string WhyNot(const TaskSpec& seen) const override {
    const int64_t ids = seen.classes() - FirstId(seen);
    if (ids > kByteIds) return absl::StrCat("there are ", ids, " ids, and it packs bytes");
    return Packer::WhyNot(seen);
  }

  absl::StatusOr<BaselineLogits> Predict(const BaselineData&,
                                         const BaselineOptions&) const override {
    return absl::UnimplementedError(absl::StrCat(facts().name, " packs tokens, not labels"));
  }

  // A size names no likeliest token: none counts as right.
  absl::StatusOr<std::vector<TokenScores>> ScoreTokens(const BaselineData& data,
                                                       const BaselineOptions&) const override {
    const Packer packer(data.train);
    std::vector<TokenScores> all;
    for (const SplitView* split : data.scored) {
      TokenScores& scores = all.emplace_back();
      scores.correct.resize(split->size());
      for (int64_t i = 0; i < split->size(); ++i) {
        const int64_t targets = split->length_tokens(i) - split->prompt_tokens(i);
        scores.targets.push_back(std::max<int64_t>(0, targets));
        int64_t bytes = 0;
        if (targets > 0) {
          LRA_ASSIGN_OR_RETURN(bytes, packer.BytesOf(*split, i));
        }
        scores.nats.push_back(8 * std::log(2.0) * static_cast<double>(bytes));
      }
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<BaselineMethod> MakeGzipBaseline() {
  return std::make_unique<SizeBaseline<Gzip>>(BaselineFacts{
      .name = "gzip",
      .description = "The size of each example packed by deflate, as gzip -9 does, behind the end "
                     "of the training split.",
      .bar = "gzip",
      .ignores = "all but repeated strings and how often bytes occur",
      .is_required = false});
}

std::unique_ptr<BaselineMethod> MakePngBaseline() {
  return std::make_unique<SizeBaseline<Png>>(
      BaselineFacts{.name = "png",
                    .description = "The size of each picture as a PNG file.",
                    .bar = "PNG",
                    .ignores = "all other pictures",
                    .is_required = false});
}

}  // namespace lra
