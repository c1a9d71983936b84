// NumPy's .npy files, version 1.0, C order, little-endian: the format of a data set's columns and
// of stored predictions.
//
//   LRA_RETURN_IF_ERROR(WriteNpy("predictions.npy", logits, {examples, classes}));
//   LRA_ASSIGN_OR_RETURN(MappedNpy tokens, MappedNpy::Open("train-00000-of-00004.tokens.npy"));
//   absl::Span<const uint8_t> values = tokens.values<uint8_t>();
#ifndef LRA_DATASETS_NPY_H_
#define LRA_DATASETS_NPY_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "datasets/half.h"
#include "datasets/mapped_file.h"
#include "lra/check.h"

namespace lra {

// The columns of data sets have one of the first six types; the others occur in
// predictions.
enum class NpyType {
  kUint8,
  kUint16,
  kInt16,
  kInt32,
  kInt64,
  kFloat32,
  kInt8,
  kUint32,
  kUint64,
  kFloat64,
  kFloat16
};

template <class T>
constexpr NpyType NpyTypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return NpyType::kUint8;
  if constexpr (std::is_same_v<T, uint16_t>) return NpyType::kUint16;
  if constexpr (std::is_same_v<T, int16_t>) return NpyType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return NpyType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return NpyType::kInt64;
  if constexpr (std::is_same_v<T, float>) return NpyType::kFloat32;
  if constexpr (std::is_same_v<T, int8_t>) return NpyType::kInt8;
  if constexpr (std::is_same_v<T, uint32_t>) return NpyType::kUint32;
  if constexpr (std::is_same_v<T, uint64_t>) return NpyType::kUint64;
  if constexpr (std::is_same_v<T, double>) return NpyType::kFloat64;
  if constexpr (std::is_same_v<T, Half>) return NpyType::kFloat16;
}

int NpyItemBytes(NpyType type);
// NumPy's name: "|u1", "<u2", "<i2", "<i4", "<i8", "<f4", "|i1", "<u4", "<u8", "<f8",
// "<f2".
absl::string_view NpyDescr(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::kUint8;
  std::vector<int64_t> shape;
  int64_t data_offset_bytes = 0;
  int64_t values = 0;  // product of the sizes
};

// Everything before the values: a multiple of 64 bytes, equal to what NumPy writes.
std::string FormatNpyHeader(NpyType type, absl::Span<const int64_t> shape);

// Accepts only the dictionary as NumPy writes it, one of the types above, C order, and exactly as
// many bytes of values as the shape says. DataLoss names `where` and what is wrong.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file_bytes, absl::string_view where);

// An .npy file mapped into memory, or one that was unpacked from an .npz. Movable; safe for
// concurrent reading.
class MappedNpy {
 public:
  MappedNpy() = default;
  static absl::StatusOr<MappedNpy> Open(absl::string_view path);
  // `where` names the file in errors, here and below.
  static absl::StatusOr<MappedNpy> FromFile(MappedFile file, absl::string_view where);
  static absl::StatusOr<MappedNpy> FromBytes(std::string bytes, absl::string_view where);

  const NpyHeader& header() const { return header_; }
  absl::string_view bytes() const { return unpacked_.empty() ? file_.bytes() : unpacked_; }
  // T must be the type in the header.
  template <class T>
  absl::Span<const T> values() const {
    LRA_CHECK(NpyTypeOf<T>() == header_.type);
    const char* data = bytes().data() + header_.data_offset_bytes;
    return {reinterpret_cast<const T*>(data), static_cast<size_t>(header_.values)};
  }

 private:
  MappedFile file_;
  std::string unpacked_;  // empty for a mapped file
  NpyHeader header_;
};

// Writes the file atomically. The number of `values` is the product of `shape`.
absl::Status WriteNpy(absl::string_view path, absl::Span<const float> values,
                      absl::Span<const int64_t> shape);
absl::Status WriteNpyHalf(absl::string_view path, absl::Span<const Half> values,
                          absl::Span<const int64_t> shape);

}  // namespace lra

#endif  // LRA_DATASETS_NPY_H_
