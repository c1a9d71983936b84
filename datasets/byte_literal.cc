#include "datasets/byte_literal.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lra/excerpt.h"

namespace lra {
namespace {

// The byte that a backslash followed by this character stands for.
std::optional<char> SimpleEscape(char byte) {
  constexpr absl::string_view kEscaped = "\\'\"abfnrtv", kMeaning = "\\'\"\a\b\f\n\r\t\v";
  const size_t position = kEscaped.find(byte);
  if (position == absl::string_view::npos) return std::nullopt;
  return kMeaning[position];
}

bool IsOctal(char byte) { return byte >= '0' && byte <= '7'; }

int HexValue(char byte) {
  return absl::ascii_isdigit(byte) ? byte - '0' : absl::ascii_tolower(byte) - 'a' + 10;
}

class Decoder {
 public:
  Decoder(absl::string_view literal, bool may_be_cut) : text_(literal), may_be_cut_(may_be_cut) {}

  absl::StatusOr<std::string> Decode() {
    if (text_.size() < 2 || text_[0] != 'b' || (text_[1] != '\'' && text_[1] != '"')) {
      return Error(0, "b' or b\" is expected");
    }
    const char special[] = {'\\', text_[1], '\n', '\r', '\0'};
    at_ = 2;
    bytes_.reserve(text_.size());
    while (at_ < text_.size() && text_[at_] != text_[1]) {
      absl::Status status;
      if (text_[at_] == '\\') {
        status = Escape();
      } else {
        status = Plain(absl::string_view(special, sizeof(special)));
      }
      if (!status.ok()) return status;
    }
    if (at_ + 1 < text_.size()) {
      return Error(at_, "the quote ends the literal; nothing may follow");
    }
    if (at_ == text_.size() && !may_be_cut_) return Error(at_, "the closing quote is missing");
    return std::move(bytes_);
  }

 private:
  absl::Status Error(size_t at, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("byte ", at, " of the bytes literal, ",
                                                   Excerpt(text_.substr(at, 4)), ": ", what));
  }

  // Copies up to the next byte with a special meaning.
  absl::Status Plain(absl::string_view special) {
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = std::find_if(begin, text_.end(), [&](char byte) {
      return static_cast<uint8_t>(byte) >= 0x80 || special.find(byte) != absl::string_view::npos;
    });
    if (end == begin) {
      return Error(at_, "line ends, NUL and bytes above 127 must be written as escapes");
    }
    bytes_.append(begin, end);
    at_ += end - begin;
    return absl::OkStatus();
  }

  absl::Status Escape() {
    const size_t left = text_.size() - at_;
    if (left == 1) return Cut();
    const char byte = text_[at_ + 1];
    if (byte == '\n' || byte == '\r') {
      at_ += left > 2 && byte == '\r' && text_[at_ + 2] == '\n' ? 3 : 2;
    } else if (const std::optional<char> meaning = SimpleEscape(byte); meaning.has_value()) {
      bytes_.push_back(*meaning);
      at_ += 2;
    } else if (byte == 'x') {
      return HexEscape();
    } else if (IsOctal(byte)) {
      return OctalEscape();
    } else {
      bytes_.push_back('\\');
      ++at_;
    }
    return absl::OkStatus();
  }

  absl::Status HexEscape() {
    const absl::string_view digits = text_.substr(at_ + 2, 2);
    if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
      return Error(at_, "\\x needs two hexadecimal digits");
    }
    if (digits.size() < 2) return Cut();
    bytes_.push_back(static_cast<char>(HexValue(digits[0]) << 4 | HexValue(digits[1])));
    at_ += 4;
    return absl::OkStatus();
  }

  absl::Status OctalEscape() {
    int value = 0;
    size_t end = at_ + 1;
    while (end < text_.size() && end < at_ + 4 && IsOctal(text_[end])) {
      value = value * 8 + (text_[end++] - '0');
    }
    if (end == text_.size() && end < at_ + 4) return Cut();
    bytes_.push_back(static_cast<char>(value));
    at_ = end;
    return absl::OkStatus();
  }

  // The error for a text that ends inside an escape.
  absl::Status Cut() {
    if (!may_be_cut_) return Error(at_, "the literal ends inside an escape");
    at_ = text_.size();
    return absl::OkStatus();
  }

  const absl::string_view text_;
  const bool may_be_cut_;
  size_t at_ = 0;
  std::string bytes_;
};

}  // namespace

bool LooksLikeByteLiteral(absl::string_view text) {
  return text.size() >= 3 && text[0] == 'b' && (text[1] == '\'' || text[1] == '"') &&
         text.back() == text[1];
}

absl::StatusOr<std::string> DecodeByteLiteral(absl::string_view literal) {
  return Decoder(literal, false).Decode();
}

absl::StatusOr<std::string> DecodeByteLiteralPrefix(absl::string_view literal) {
  return Decoder(literal, true).Decode();
}

}  // namespace lra
