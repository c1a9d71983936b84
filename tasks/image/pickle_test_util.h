// For tests only: writes pickles opcode by opcode.
#ifndef LRA_TASKS_IMAGE_PICKLE_TEST_UTIL_H_
#define LRA_TASKS_IMAGE_PICKLE_TEST_UTIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lra::image {

inline std::string LittleEndian(uint64_t number, int size_bytes) {
  std::string bytes;
  for (int i = 0; i < size_bytes; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

// Uses SHORT_BINSTRING or BINSTRING, which only Python 2 writes.
inline std::string Python2String(absl::string_view text) {
  return text.size() < 256 ? absl::StrCat("U", LittleEndian(text.size(), 1), text)
                           : absl::StrCat("T", LittleEndian(text.size(), 4), text);
}

inline std::string Int(int64_t value) {
  if (value >= 0 && value < 256) return absl::StrCat("K", LittleEndian(value, 1));
  if (value >= 0 && value < 65536) return absl::StrCat("M", LittleEndian(value, 2));
  return absl::StrCat("J", LittleEndian(static_cast<uint64_t>(value), 4));
}

// Writes, as Python 2's cPickle does in protocol 2, the dictionary {"batch_label": ..., "labels":
// labels, "data": an array [rows, columns] of type `dtype` with these values, "filenames": [...]}.
inline std::string Python2Batch(const std::vector<int>& labels, int64_t rows, int64_t columns,
                                absl::string_view values, absl::string_view dtype = "u1") {
  std::string pickle("\x80\x02}q\x01(", 6);
  absl::StrAppend(&pickle, Python2String("batch_label"), "q\x02", Python2String("testing batch"),
                  "q\x03", Python2String("labels"), "q\x04]q\x05(");
  for (const int label : labels) absl::StrAppend(&pickle, Int(label));
  absl::StrAppend(&pickle, "e", Python2String("data"),
                  "q\x06"
                  "cnumpy.core.multiarray\n_reconstruct\nq\x07"
                  "cnumpy\nndarray\nq\x08",
                  Int(0), "\x85", Python2String("b"), "\x87R", "q\x09(", Int(1), Int(rows),
                  Int(columns), "\x86");
  absl::StrAppend(&pickle, "cnumpy\ndtype\nq\x0a", Python2String(dtype), Int(0), Int(1), "\x87R",
                  "q\x0b(", Int(3), Python2String("|"), "NNN", Int(-1), Int(-1), Int(0), "tb");
  absl::StrAppend(&pickle, "\x89", Python2String(values), "q\x0ctb", Python2String("filenames"),
                  "q\x0d]q\x0e(");
  for (size_t i = 0; i < labels.size(); ++i) {
    absl::StrAppend(&pickle, Python2String(absl::StrCat("img_s_", i, ".png")), "q",
                    LittleEndian(15 + i % 200, 1));
  }
  return absl::StrCat(pickle, "eu.");
}

}  // namespace lra::image

#endif  // LRA_TASKS_IMAGE_PICKLE_TEST_UTIL_H_
