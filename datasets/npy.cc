#include "datasets/npy.h"

#include <bit>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are little-endian");

constexpr absl::string_view kMagic("\x93NUMPY\x01\x00", 8);  // version 1.0
constexpr size_t kPreludeBytes = 10;                         // magic, version, header length
constexpr size_t kAlignBytes = 64;

struct TypeFacts {
  NpyType type;
  absl::string_view descr;
  int bytes;
};
constexpr TypeFacts kTypes[] = {
    {NpyType::kUint8, "|u1", 1},   {NpyType::kUint16, "<u2", 2},  {NpyType::kInt16, "<i2", 2},
    {NpyType::kInt32, "<i4", 4},   {NpyType::kInt64, "<i8", 8},   {NpyType::kFloat32, "<f4", 4},
    {NpyType::kInt8, "|i1", 1},    {NpyType::kUint32, "<u4", 4},  {NpyType::kUint64, "<u8", 8},
    {NpyType::kFloat64, "<f8", 8}, {NpyType::kFloat16, "<f2", 2},
};

const TypeFacts& FactsOf(NpyType type) { return kTypes[static_cast<int>(type)]; }

absl::Status HeaderError(absl::string_view where, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(where, ": not a column of this format: ", what));
}

// Splits off the text before `end` and removes `end` too; returns false if `end` does not follow.
bool TakeUntil(absl::string_view* text, absl::string_view end, absl::string_view* taken) {
  const size_t position = text->find(end);
  if (position == absl::string_view::npos) return false;
  *taken = text->substr(0, position);
  text->remove_prefix(position + end.size());
  return true;
}

bool ParseType(absl::string_view descr, NpyType* type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.descr != descr) continue;
    *type = facts.type;
    return true;
  }
  return false;
}

// Says how NumPy makes a known type of booleans and of big-endian numbers; empty for other types.
std::string Remedy(absl::string_view descr) {
  std::string known;
  if (descr == "|b1") known = "|u1";
  if (absl::ConsumePrefix(&descr, ">")) known = absl::StrCat("<", descr);
  NpyType type;
  if (!ParseType(known, &type)) return "";
  return absl::StrCat("; .astype(\"", known, "\") makes one of them");
}

// Parses "3, 4", "3," or "" into sizes and their product.
bool ParseShape(absl::string_view text, NpyHeader* header) {
  header->values = 1;
  while (!text.empty()) {
    absl::string_view digits = text.substr(0, text.find(','));
    text.remove_prefix(digits.size());
    int64_t size = 0;
    if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
        !absl::SimpleAtoi(digits, &size)) {
      return false;
    }
    const bool one_dimensional = header->shape.empty() && text == ",";
    if (one_dimensional) text.remove_prefix(1);
    if (!text.empty() && (!absl::ConsumePrefix(&text, ", ") || text.empty())) return false;
    if (header->shape.empty() && text.empty() && !one_dimensional) return false;
    if (size != 0 && header->values > std::numeric_limits<int64_t>::max() / 8 / size) return false;
    header->values *= size;
    header->shape.push_back(size);
  }
  return true;
}

template <class T>
absl::Status WriteValues(absl::string_view path, absl::Span<const T> values,
                         absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  LRA_CHECK(count == static_cast<int64_t>(values.size())) << path;
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  LRA_RETURN_IF_ERROR(writer.Write(FormatNpyHeader(NpyTypeOf<T>(), shape)));
  LRA_RETURN_IF_ERROR(writer.Write(values.data(), values.size() * sizeof(T)));
  return writer.Close();
}

}  // namespace

int NpyItemBytes(NpyType type) { return FactsOf(type).bytes; }
absl::string_view NpyDescr(NpyType type) { return FactsOf(type).descr; }

std::string FormatNpyHeader(NpyType type, absl::Span<const int64_t> shape) {
  std::string header =
      absl::StrCat("{'descr': '", NpyDescr(type), "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape, ", "), shape.size() == 1 ? "," : "", "), }");
  const size_t used = kPreludeBytes + header.size() + 1;
  header.append((kAlignBytes - used % kAlignBytes) % kAlignBytes, ' ');
  header.push_back('\n');
  const char length[2] = {static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  return absl::StrCat(kMagic, absl::string_view(length, 2), header);
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file_bytes, absl::string_view where) {
  if (!absl::StartsWith(file_bytes, kMagic)) {
    return HeaderError(where, "it does not begin with NumPy's mark and version 1.0");
  }
  if (file_bytes.size() < kPreludeBytes) return HeaderError(where, "it ends inside its header");
  const size_t length = static_cast<uint8_t>(file_bytes[8]) |
                        static_cast<size_t>(static_cast<uint8_t>(file_bytes[9])) << 8;
  if (file_bytes.size() < kPreludeBytes + length) {
    return HeaderError(where, "it ends inside its header");
  }
  NpyHeader header;
  header.data_offset_bytes = kPreludeBytes + length;
  if (header.data_offset_bytes % 16 != 0) return HeaderError(where, "its values are not aligned");
  absl::string_view text = file_bytes.substr(kPreludeBytes, length);
  absl::string_view descr, shape;
  if (!absl::ConsumePrefix(&text, "{'descr': '") || !TakeUntil(&text, "'", &descr)) {
    return HeaderError(where, "its header does not begin with {'descr': '");
  }
  if (!ParseType(descr, &header.type)) {
    return HeaderError(where, absl::StrCat("its type is '", descr.substr(0, 40),
                                           "'; known: |u1 <u2 <u4 <u8 |i1 <i2 <i4 <i8 <f2 <f4 <f8",
                                           Remedy(descr)));
  }
  if (!absl::ConsumePrefix(&text, ", 'fortran_order': False, 'shape': (") ||
      !TakeUntil(&text, ")", &shape) || !ParseShape(shape, &header)) {
    return HeaderError(
        where,
        "its header does not say C order and a shape (numpy.ascontiguousarray makes C order)");
  }
  if (!absl::ConsumePrefix(&text, ", }") || !absl::ConsumeSuffix(&text, "\n") ||
      text.find_first_not_of(' ') != absl::string_view::npos) {
    return HeaderError(where, "its header does not end as NumPy ends it");
  }
  const int64_t held = file_bytes.size() - header.data_offset_bytes;
  const int64_t needed = header.values * NpyItemBytes(header.type);
  if (held != needed) {
    return HeaderError(where, absl::StrCat("it holds ", held, " bytes of values; its shape (",
                                           shape, ") needs ", needed));
  }
  return header;
}

absl::StatusOr<MappedNpy> MappedNpy::Open(absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return FromFile(std::move(file), path);
}

absl::StatusOr<MappedNpy> MappedNpy::FromFile(MappedFile file, absl::string_view where) {
  MappedNpy column;
  column.file_ = std::move(file);
  LRA_ASSIGN_OR_RETURN(column.header_, ParseNpyHeader(column.file_.bytes(), where));
  return column;
}

absl::StatusOr<MappedNpy> MappedNpy::FromBytes(std::string bytes, absl::string_view where) {
  MappedNpy column;
  column.unpacked_ = std::move(bytes);
  LRA_ASSIGN_OR_RETURN(column.header_, ParseNpyHeader(column.unpacked_, where));
  return column;
}

absl::Status WriteNpy(absl::string_view path, absl::Span<const float> values,
                      absl::Span<const int64_t> shape) {
  return WriteValues(path, values, shape);
}

absl::Status WriteNpyHalf(absl::string_view path, absl::Span<const Half> values,
                          absl::Span<const int64_t> shape) {
  return WriteValues(path, values, shape);
}

}  // namespace lra
