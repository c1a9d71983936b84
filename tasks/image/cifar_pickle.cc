#include "tasks/image/cifar_pickle.h"

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/excerpt.h"
#include "lra/status_macros.h"
#include "tasks/image/pickle_reader.h"

namespace lra::image {
namespace {

using Kind = PickleValue::Kind;

template <class... Words>
absl::Status BatchError(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("the pickle is no batch of CIFAR-10: ", words...));
}

absl::StatusOr<const PickleValue*> Find(const PickleValue& dict, absl::string_view key, Kind kind) {
  const PickleValue* const value = FindKey(dict, key);
  if (value == nullptr) return BatchError("it has no key `", key, "`");
  if (value->kind != kind) {
    return BatchError("`", key, "` is ", PickleKindName(value->kind), "; ", PickleKindName(kind),
                      " is expected");
  }
  return value;
}

absl::StatusOr<std::vector<uint8_t>> Labels(const PickleValue& list) {
  std::vector<uint8_t> labels;
  labels.reserve(list.items.size());
  for (const PickleValue* item : list.items) {
    if (item->kind != Kind::kInt) {
      return BatchError("`labels`[", labels.size(), "] is ", PickleKindName(item->kind),
                        "; an integer is expected");
    }
    if (item->integer < 0 || item->integer >= kCifarClasses) {
      return BatchError("`labels`[", labels.size(), "] is ", item->integer, "; 0 to ",
                        kCifarClasses - 1, " are expected");
    }
    labels.push_back(static_cast<uint8_t>(item->integer));
  }
  return labels;
}

// The number of rows of a byte array [n, columns].
absl::StatusOr<int64_t> Rows(const PickleValue& array, int64_t columns) {
  if (array.items.empty()) return BatchError("`data` is an array that was never filled");
  const std::vector<const PickleValue*>& shape = array.items[0]->items;
  const absl::string_view type = array.items[1]->bytes;
  if (type != "u1" && type != "|u1") {
    return BatchError("`data` has the type ", Excerpt(type), "; \"u1\" is expected");
  }
  const bool is_matrix =
      shape.size() == 2 && shape[0]->kind == Kind::kInt && shape[1]->kind == Kind::kInt;
  if (!is_matrix || shape[0]->integer < 0 || shape[1]->integer != columns) {
    return BatchError("`data` has the shape (",
                      is_matrix ? absl::StrCat(shape[0]->integer, ", ", shape[1]->integer)
                                : absl::StrCat(shape.size(), " dimensions"),
                      "); (n, ", columns, ") is expected");
  }
  return shape[0]->integer;
}

// Decodes UTF-8 of code points below 256 to bytes.
absl::StatusOr<std::vector<uint8_t>> FromLatin1(absl::string_view text) {
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x80) {
      const bool is_pair = (byte == 0xc2 || byte == 0xc3) && i + 1 < text.size() &&
                           (static_cast<uint8_t>(text[i + 1]) & 0xc0) == 0x80;
      if (!is_pair) {
        return BatchError("byte ", i, " of `data`'s text, ", Excerpt(text.substr(i, 4)),
                          ", is no character below 256 in UTF-8");
      }
      byte = static_cast<uint8_t>((byte & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f));
    }
    bytes.push_back(byte);
  }
  return bytes;
}

absl::StatusOr<std::vector<uint8_t>> Values(const PickleValue& bytes) {
  if (bytes.is_latin1) return FromLatin1(bytes.bytes);
  return std::vector<uint8_t>(bytes.bytes.begin(), bytes.bytes.end());
}

// Converts from Fortran order to C order.
std::vector<uint8_t> Transpose(const std::vector<uint8_t>& values, int64_t rows, int64_t columns) {
  std::vector<uint8_t> transposed(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) transposed[i * columns + j] = values[j * rows + i];
  }
  return transposed;
}

}  // namespace

absl::StatusOr<CifarBatch> ParseCifarPickle(absl::string_view bytes, int64_t image_bytes) {
  LRA_CHECK(image_bytes >= 1) << image_bytes;
  LRA_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(bytes));
  const PickleValue& root = pickle.root();
  if (root.kind != Kind::kDict) {
    return BatchError("it holds ", PickleKindName(root.kind), "; a dictionary is expected");
  }
  LRA_ASSIGN_OR_RETURN(const PickleValue* const list, Find(root, "labels", Kind::kList));
  LRA_ASSIGN_OR_RETURN(const PickleValue* const array, Find(root, "data", Kind::kArray));
  CifarBatch batch;
  LRA_ASSIGN_OR_RETURN(batch.labels, Labels(*list));
  LRA_ASSIGN_OR_RETURN(const int64_t rows, Rows(*array, image_bytes));
  LRA_ASSIGN_OR_RETURN(batch.pixels, Values(*array->items[2]));
  const auto held = static_cast<int64_t>(batch.pixels.size());
  if (held % image_bytes != 0 || held / image_bytes != rows) {
    return BatchError("`data` has ", held, " bytes of values; its shape (", rows, ", ", image_bytes,
                      ") says otherwise");
  }
  if (batch.size() != rows) {
    return BatchError("there are ", batch.size(), " labels for ", rows, " images");
  }
  if (array->integer != 0) batch.pixels = Transpose(batch.pixels, rows, image_bytes);
  return batch;
}

}  // namespace lra::image
