#include "models/base/safetensors.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Not nlohmann::ordered_json: it finds a key by looking at all before it, so that reading would
// take time proportional to the square of the number of tensors.
using HeaderJson = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little,
              "tensor bytes are written as they lie in memory");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kAlignment = 8;
// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// Names of tensors and of metadata in one file; the largest model of this program has some hundred.
constexpr size_t kMaxNames = 250'000;
constexpr size_t kMaxAxes = 64;
constexpr char kMetadata[] = "__metadata__";

struct ElementType {
  const char* name;
  at::ScalarType type;
  int64_t size_bytes;
};
constexpr ElementType kElementTypes[] = {
    {"F64", at::kDouble, 8},    {"F32", at::kFloat, 4}, {"F16", at::kHalf, 2},
    {"BF16", at::kBFloat16, 2}, {"I64", at::kLong, 8},  {"I32", at::kInt, 4},
    {"I16", at::kShort, 2},     {"I8", at::kChar, 1},   {"U8", at::kByte, 1},
    {"BOOL", at::kBool, 1},
};

const ElementType* FindType(at::ScalarType type) {
  for (const ElementType& known : kElementTypes) {
    if (known.type == type) return &known;
  }
  return nullptr;
}

const ElementType* FindType(absl::string_view name) {
  for (const ElementType& known : kElementTypes) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

// --- Writing ---

absl::Status CheckTensor(absl::string_view path, const std::string& name, const at::Tensor& tensor,
                         std::set<std::string>* names) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor \"", name, "\" ", why));
  };
  if (name.empty() || name == kMetadata) return refuse("has a name that the format reserves");
  if (!std::all_of(name.begin(), name.end(), absl::ascii_isprint)) {
    return refuse("has a name that is not printable ASCII");
  }
  if (!names->insert(name).second) return refuse("is given twice");
  if (!tensor.defined()) return refuse("is undefined");
  if (FindType(tensor.scalar_type()) == nullptr) {
    return refuse(absl::StrCat("has element type ", c10::toString(tensor.scalar_type()),
                               ", which is not supported"));
  }
  return absl::OkStatus();
}

// Writes the length prefix and the padded JSON.
std::string MakeHeader(const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t end = offset + static_cast<int64_t>(tensor.nbytes());
    header[name] = {{"dtype", FindType(tensor.scalar_type())->name},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json = JsonText(header, -1);
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  const uint64_t length = json.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + json;
}

// --- Reading ---

// A tensor as the header describes it; offsets count from the first byte after the header.
struct Entry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<int64_t> shape;
  int64_t begin = 0;
  int64_t end = 0;
};

absl::Status Damaged(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, ": ", what));
}

struct Header {
  HeaderJson json;
  std::vector<std::string> names;  // of its entries, in the order of the file
};

// Notes the names of the outermost object, and the first name that an object has twice: nlohmann
// keeps the last of two equal keys, and a hostile header must not be able to hide a tensor that
// way. The parser's own callback would do, but looks at all earlier entries after each.
class NameWatch : public nlohmann::json_sax<HeaderJson> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
  bool start_object(size_t) override {
    open_objects_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_objects_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    const bool is_new = open_objects_.back().insert(name).second;
    if (!is_new) repeated = name;
    if (open_objects_.size() == 1) names.push_back(name);
    return is_new;
  }

  std::string repeated;  // empty = none
  std::vector<std::string> names;

 private:
  std::vector<std::set<std::string>> open_objects_;
};

absl::StatusOr<Header> ParseHeader(absl::string_view path, absl::string_view text) {
  NameWatch watch;
  const bool is_json = HeaderJson::sax_parse(text.begin(), text.end(), &watch);
  if (!watch.repeated.empty())
    return Damaged(path, absl::StrCat("the header names \"", watch.repeated, "\" twice"));
  if (!is_json) return Damaged(path, "the header is not valid JSON");
  Header header = {HeaderJson::parse(text.begin(), text.end(), nullptr, false), watch.names};
  if (!header.json.is_object()) return Damaged(path, "the header is not a JSON object");
  const size_t names =
      header.names.size() + (header.json.contains(kMetadata) ? header.json[kMetadata].size() : 0);
  if (names <= kMaxNames) return header;
  return Damaged(
      path, absl::StrCat("the header names ", names, " tensors and values of metadata, at most ",
                         kMaxNames, " are read"));
}

std::optional<std::vector<int64_t>> ReadIntegers(const HeaderJson& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<int64_t> values;
  for (const HeaderJson& item : json) {
    if (!item.is_number_unsigned()) return std::nullopt;
    const uint64_t value = item.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

// The size of a tensor in bytes; nullopt if its strides do not fit into 64 bits or it has more axes
// than LibTorch supports.
std::optional<int64_t> SizeBytes(const Entry& entry) {
  if (entry.shape.size() > kMaxAxes) return std::nullopt;
  int64_t bytes = entry.type->size_bytes;
  bool is_empty = false;
  for (int64_t extent : entry.shape) {
    is_empty |= extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes)) return std::nullopt;
  }
  return is_empty ? 0 : bytes;
}

absl::StatusOr<Entry> ParseEntry(absl::string_view path, const std::string& name,
                                 const HeaderJson& json, int64_t data_bytes) {
  const auto damaged = [&](absl::string_view what) {
    return Damaged(path, absl::StrCat("tensor \"", name, "\": ", what));
  };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || !json["dtype"].is_string()) {
    return damaged("should hold exactly dtype, shape and data_offsets");
  }
  Entry entry;
  entry.name = name;
  const std::string dtype = json["dtype"].get<std::string>();
  entry.type = FindType(dtype);
  if (entry.type == nullptr) return damaged(absl::StrCat("unknown dtype \"", dtype, "\""));
  const auto shape = ReadIntegers(json["shape"]);
  if (!shape) return damaged("shape should be a list of sizes >= 0");
  entry.shape = *shape;
  const auto offsets = ReadIntegers(json["data_offsets"]);
  if (!offsets || offsets->size() != 2) return damaged("data_offsets should be two offsets >= 0");
  entry.begin = (*offsets)[0], entry.end = (*offsets)[1];
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return damaged(absl::StrCat("bytes [", entry.begin, ", ", entry.end,
                                ") lie outside the file's ", data_bytes, " data bytes"));
  }
  const std::optional<int64_t> expected = SizeBytes(entry);
  if (!expected || *expected != entry.end - entry.begin) {
    return damaged(absl::StrCat("shape and dtype do not give the ", entry.end - entry.begin,
                                " bytes of data_offsets"));
  }
  return entry;
}

// Sorts entries by position, and requires that there are neither gaps nor overlaps.
absl::Status CheckLayout(absl::string_view path, std::vector<Entry>* entries, int64_t data_bytes) {
  std::stable_sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t position = 0;
  for (const Entry& entry : *entries) {
    if (entry.begin != position) {
      return Damaged(path, absl::StrCat("tensor \"", entry.name, "\" begins at byte ", entry.begin,
                                        entry.begin < position
                                            ? ", inside the tensor before it (which ends at "
                                            : ", after a gap (the tensor before it ends at ",
                                        position, ")"));
    }
    position = entry.end;
  }
  if (position == data_bytes) return absl::OkStatus();
  return Damaged(path,
                 absl::StrCat(data_bytes - position, " bytes at the end belong to no tensor"));
}

absl::StatusOr<at::Tensor> MakeTensor(absl::string_view path, const Entry& entry,
                                      absl::string_view data) {
  const absl::string_view bytes = data.substr(entry.begin, entry.end - entry.begin);
  // A compiler may assume that a bool is 0 or 1, so other bytes are refused.
  if (entry.type->type == at::kBool &&
      bytes.find_first_not_of(absl::string_view("\0\1", 2)) != absl::string_view::npos) {
    return Damaged(path, absl::StrCat("tensor \"", entry.name, "\": BOOL holds a byte above 1"));
  }
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.type->type));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

absl::Status ReadMetadata(absl::string_view path, const HeaderJson& json,
                          std::map<std::string, std::string>* out) {
  if (!json.is_object()) return Damaged(path, "__metadata__ is not an object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      return Damaged(path, absl::StrCat("__metadata__ \"", key, "\" is not a string"));
    (*out)[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

// Splits the file into header text and data.
absl::StatusOr<std::pair<absl::string_view, absl::string_view>> SplitFile(absl::string_view path,
                                                                          absl::string_view bytes) {
  if (bytes.size() < kLengthBytes) {
    return Damaged(path,
                   absl::StrCat("has ", bytes.size(), " bytes, too few for a safetensors file"));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    return Damaged(
        path, absl::StrCat("the header claims ", length, " bytes; the file has ", bytes.size()));
  }
  return std::pair(bytes.substr(kLengthBytes, length), bytes.substr(kLengthBytes + length));
}

}  // namespace

absl::StatusOr<std::string> WriteSafetensors(
    absl::string_view path, const std::vector<std::pair<std::string, at::Tensor>>& tensors,
    const std::map<std::string, std::string>& metadata) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors)
    LRA_RETURN_IF_ERROR(CheckTensor(path, name, tensor, &names));
  LRA_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Open(path));
  LRA_RETURN_IF_ERROR(writer.Write(MakeHeader(tensors, metadata)));
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    LRA_RETURN_IF_ERROR(writer.Write(bytes.const_data_ptr(), bytes.nbytes()));
  }
  LRA_RETURN_IF_ERROR(writer.Close());
  return ToHex(writer.digest());
}

std::string TensorsSha256(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  Sha256 hash;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    hash.Update(bytes.const_data_ptr(), bytes.nbytes());
  }
  return ToHex(hash.Finish());
}

absl::StatusOr<SafetensorsFile> ReadSafetensors(absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ParseSafetensors(path, bytes);
}

absl::StatusOr<SafetensorsFile> ParseSafetensors(absl::string_view path, absl::string_view bytes) {
  LRA_ASSIGN_OR_RETURN(const auto parts, SplitFile(path, bytes));
  const auto& [text, data] = parts;
  LRA_ASSIGN_OR_RETURN(const Header header, ParseHeader(path, text));
  SafetensorsFile file;
  std::vector<Entry> entries;
  for (const std::string& name : header.names) {
    const HeaderJson& json = header.json[name];
    if (name == kMetadata) {
      LRA_RETURN_IF_ERROR(ReadMetadata(path, json, &file.metadata));
      continue;
    }
    LRA_ASSIGN_OR_RETURN(Entry entry,
                         ParseEntry(path, name, json, static_cast<int64_t>(data.size())));
    entries.push_back(std::move(entry));
  }
  LRA_RETURN_IF_ERROR(CheckLayout(path, &entries, static_cast<int64_t>(data.size())));
  for (const Entry& entry : entries) {
    LRA_ASSIGN_OR_RETURN(at::Tensor tensor, MakeTensor(path, entry, data));
    file.tensors.emplace_back(entry.name, std::move(tensor));
  }
  return file;
}

}  // namespace lra
