#include "tasks/array_split.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/manifest.h"
#include "datasets/mapped_file.h"
#include "datasets/npy_values.h"
#include "datasets/npz.h"
#include "lra/status_macros.h"
#include "tasks/raw_files.h"

namespace lra {
namespace {

constexpr int64_t kMostUnpackedBytes = int64_t{8} << 30;
constexpr int64_t kMostArrayClasses = 10'000, kMostIds = 65536, kMostArrayTokens = 1 << 20;
constexpr int64_t kColours = 3;

std::string ShapeText(const NpyHeader& header) {
  return absl::StrCat("[", absl::StrJoin(header.shape, ", "), "]");
}

// Value i of an array of integers; what is above int64 is its largest.
int64_t IntegerAt(const MappedNpy& array, int64_t i) {
  return VisitValues(array, [i]<class T>(absl::Span<const T> values) -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      if (std::in_range<int64_t>(values[i])) return static_cast<int64_t>(values[i]);
    }
    return std::numeric_limits<int64_t>::max();
  });
}

}  // namespace

absl::StatusOr<MappedNpy> ArraySplit::Take(Arrays* arrays, const std::string& name) const {
  const auto found = arrays->find(name);
  if (found == arrays->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": has no array \"", name,
                     "\"; labels and either tokens (with offsets where they are in one row) or "
                     "images are read: numpy.savez(\"train.npz\", tokens=..., labels=...)"));
  }
  if (IsFloat(found->second.header().type)) {
    return Wrong(name, absl::StrCat("its type is ", NpyDescr(found->second.header().type),
                                    "; integers are read (.astype(\"int64\"), of pictures 0 to "
                                    "255 as uint8)"));
  }
  return std::move(found->second);
}

absl::Status ArraySplit::TakeTokens(Arrays* arrays) {
  has_offsets_ = arrays->count("offsets") > 0;
  LRA_ASSIGN_OR_RETURN(values_, Take(arrays, "tokens"));
  const NpyHeader& header = values_.header();
  if (has_offsets_) {
    LRA_ASSIGN_OR_RETURN(offsets_, Take(arrays, "offsets"));
    if (header.shape.size() != 1)
      return Wrong("tokens",
                   absl::StrCat("its shape is ", ShapeText(header), "; beside offsets it is [T]"));
    if (offsets_.header().shape == std::vector<int64_t>{examples() + 1}) return absl::OkStatus();
    return Wrong("offsets", absl::StrCat("its shape is ", ShapeText(offsets_.header()), "; of ",
                                         examples(), " labels it is [", examples() + 1, "]"));
  }
  if (header.shape.size() == 2 && header.shape[0] == examples()) return absl::OkStatus();
  return Wrong("tokens", absl::StrCat("its shape is ", ShapeText(header), "; of ", examples(),
                                      " labels it is [", examples(),
                                      ", N] with zeros behind the end of a sequence, or [T] "
                                      "beside an array offsets"));
}

absl::Status ArraySplit::TakeImages(Arrays* arrays) {
  LRA_ASSIGN_OR_RETURN(values_, Take(arrays, "images"));
  const NpyHeader& header = values_.header();
  const std::vector<int64_t>& shape = header.shape;
  const bool is_colour = shape.size() == 4 && shape[3] == kColours;
  content_ = is_colour ? TaskSpec::RGB_IMAGE : TaskSpec::GREY_IMAGE;
  if ((shape.size() != 3 && !is_colour) || shape[0] != examples() || shape[1] != shape[2])
    return Wrong(
        "images",
        absl::StrCat("its shape is ", ShapeText(header), "; of ", examples(), " labels it is [",
                     examples(), ", side, side] or, in colour, [", examples(), ", side, side, 3]"));
  if (shape[1] < 1 || shape[1] > kMostSidePixels)
    return Wrong("images", absl::StrCat("its side is ", shape[1], " pixels; 1 to ", kMostSidePixels,
                                        " are taken"));
  if (header.type == NpyType::kUint8) return absl::OkStatus();
  return Wrong("images", absl::StrCat("its type is ", NpyDescr(header.type),
                                      "; pixels are 0 to 255, as uint8"));
}

absl::StatusOr<ArraySplit> ArraySplit::Open(const std::string& path) {
  ArraySplit split;
  split.path_ = path;
  LRA_ASSIGN_OR_RETURN(const MappedFile bytes, MappedFile::Open(path));
  split.source_ = SourceOfFile(path, bytes.bytes());
  LRA_ASSIGN_OR_RETURN(
      Arrays arrays, ReadNpz(path, {"labels", "tokens", "offsets", "images"}, kMostUnpackedBytes));
  LRA_ASSIGN_OR_RETURN(split.labels_, split.Take(&arrays, "labels"));
  if (split.labels_.header().shape.size() != 1)
    return split.Wrong("labels", absl::StrCat("its shape is ", ShapeText(split.labels_.header()),
                                              "; labels of n examples are [n]"));
  if (split.examples() == 0) return absl::DataLossError(path + ": has no examples");
  if (arrays.count("images") == 0) {
    LRA_RETURN_IF_ERROR(split.TakeTokens(&arrays));
  } else if (arrays.count("tokens") + arrays.count("offsets") > 0) {
    return split.Wrong("images", "stands beside tokens; give one of them");
  } else {
    LRA_RETURN_IF_ERROR(split.TakeImages(&arrays));
  }
  return split;
}

absl::StatusOr<std::pair<int64_t, int64_t>> ArraySplit::Range(int64_t i) const {
  if (!has_offsets_) {
    const int64_t longest = values_.header().shape[1];
    int64_t end = (i + 1) * longest;
    while (end > i * longest && IntegerAt(values_, end - 1) == 0) --end;
    return std::pair(i * longest, end);
  }
  const int64_t first = IntegerAt(offsets_, i), last = IntegerAt(offsets_, i + 1);
  const bool begins = i > 0 || first == 0;
  const bool ends = i + 1 < examples() || last == values_.header().values;
  if (begins && ends && first >= 0 && first <= last && last <= values_.header().values)
    return std::pair(first, last);
  return absl::DataLossError(absl::StrCat(Where(i), ": its offsets are ", first, " and ", last,
                                          "; they rise from 0 to the number of all tokens, ",
                                          values_.header().values));
}

absl::StatusOr<std::vector<uint16_t>> ArraySplit::Tokens(int64_t i) const {
  LRA_ASSIGN_OR_RETURN(const auto range, Range(i));
  if (range.first == range.second)
    return absl::DataLossError(Where(i) + ": has no tokens; give it some, or leave it out");
  if (range.second - range.first > kMostArrayTokens)
    return absl::DataLossError(absl::StrCat(Where(i), ": has ", range.second - range.first,
                                            " tokens; at most ", kMostArrayTokens, " are taken"));
  std::vector<uint16_t> tokens;
  tokens.reserve(range.second - range.first);
  for (int64_t place = range.first; place < range.second; ++place) {
    const int64_t id = IntegerAt(values_, place);
    if (id < 1 || id >= kMostIds)
      return absl::DataLossError(absl::StrCat(
          Where(i), ", token ", place - range.first, ": is ", id, "; ids are 1 to ", kMostIds - 1,
          id == 0 ? ", and 0 is padding behind the end: where 0 is a value, add 1 to all" : ""));
    tokens.push_back(static_cast<uint16_t>(id));
  }
  return tokens;
}

// Colours are one plane after the other.
std::vector<uint16_t> ArraySplit::Pixels(int64_t i) const {
  const int64_t pixels = side_pixels() * side_pixels();
  const int64_t colours = content_ == TaskSpec::RGB_IMAGE ? kColours : 1;
  const auto values = values_.values<uint8_t>().subspan(i * pixels * colours, pixels * colours);
  std::vector<uint16_t> planes(values.size());
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t colour = 0; colour < colours; ++colour)
      planes[colour * pixels + pixel] = values[pixel * colours + colour];
  }
  return planes;
}

absl::StatusOr<EncodedExample> ArraySplit::Example(int64_t i) const {
  EncodedExample example;
  const int64_t label = IntegerAt(labels_, i);
  if (label < 0 || label >= kMostArrayClasses)
    return absl::DataLossError(absl::StrCat(Where(i), ": its label is ", label,
                                            "; labels are 0 to ", kMostArrayClasses - 1));
  example.label = static_cast<int32_t>(label);
  if (has_images()) {
    example.tokens = Pixels(i);
  } else {
    LRA_ASSIGN_OR_RETURN(example.tokens, Tokens(i));
  }
  return example;
}

}  // namespace lra
