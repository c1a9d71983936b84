// The token ids of ListOps. They are fixed once and never depend on the order of a set.
#ifndef LRA_TASKS_LISTOPS_VOCABULARY_H_
#define LRA_TASKS_LISTOPS_VOCABULARY_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace lra::listops {

inline constexpr uint16_t kPadding = 0;
inline constexpr uint16_t kZero = 1;  // digit d has id kZero + d
inline constexpr uint16_t kNine = 10;
inline constexpr uint16_t kMin = 11;
inline constexpr uint16_t kMax = 12;
inline constexpr uint16_t kMed =
    13;  // of an even number of arguments: floor of the mean of the middle two
inline constexpr uint16_t kSm = 14;  // sum modulo 10
inline constexpr uint16_t kClose = 15;
inline constexpr int kVocabularySize = 16;
inline constexpr int kClasses = 10;

inline constexpr std::array<absl::string_view, kVocabularySize> kTokenNames = {
    "<pad>", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};

inline bool IsDigit(uint16_t id) { return id >= kZero && id <= kNine; }
inline bool IsOperator(uint16_t id) { return id >= kMin && id <= kSm; }

// The id of a word; 0 (padding) if the word is not a token.
uint16_t TokenId(absl::string_view word);

}  // namespace lra::listops

#endif  // LRA_TASKS_LISTOPS_VOCABULARY_H_
