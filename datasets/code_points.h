// Decodes UTF-8 to code points as Python's bytes.decode("utf-8", "replace") does: every maximal
// part of a malformed sequence becomes one U+FFFD (Unicode 15, 3.9, "U+FFFD Substitution of Maximal
// Subparts").
#ifndef LRA_DATASETS_CODE_POINTS_H_
#define LRA_DATASETS_CODE_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

inline constexpr char32_t kReplacementCharacter = 0xfffd;

// Decodes in pieces; where the text is cut makes no difference. It never gives more code points
// than it got bytes. Not thread-safe.
class CodePointDecoder {
 public:
  // Appends the code points that end in `bytes`.
  void Decode(absl::string_view bytes, std::vector<char32_t>* code_points);
  // Ends the text: an unfinished sequence is malformed. Afterwards the decoder starts a new text.
  void Finish(std::vector<char32_t>* code_points);

 private:
  void Begin(uint8_t byte, std::vector<char32_t>* code_points);

  char32_t code_point_ = 0;     // bits of the unfinished sequence so far
  int missing_ = 0;             // how many bytes the sequence still needs
  uint8_t low_ = 0, high_ = 0;  // bounds of its next byte
};

// The first code points of `text`, at most `limit`. It reads no further than needed.
std::vector<char32_t> DecodeUtf8(absl::string_view text,
                                 size_t limit = std::numeric_limits<size_t>::max());

// Whether decoding gives a replacement character: the text is no UTF-8, or was spoilt before.
bool HasReplacement(absl::string_view text);

}  // namespace lra

#endif  // LRA_DATASETS_CODE_POINTS_H_
