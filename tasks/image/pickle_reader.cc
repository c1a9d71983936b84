#include "tasks/image/pickle_reader.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/excerpt.h"
#include "lra/status_macros.h"

namespace lra::image {
namespace {

using Kind = PickleValue::Kind;

enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNoneOp = 'N',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobalOp = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTupleOp = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

}  // namespace

// Python's unpickling machine: a stack with marks, and a memo.
class PickleMachine {
 public:
  explicit PickleMachine(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<Pickle> Run() {
    if (bytes_.size() < 2 || static_cast<uint8_t>(bytes_[0]) != kProto) {
      return absl::InvalidArgumentError(
          absl::StrCat("byte 0: a pickle of protocol 2 to 5 begins with the byte 0x80; found ",
                       Excerpt(bytes_.substr(0, 4))));
    }
    for (int64_t count = 0; pickle_.root_ == nullptr; ++count) {
      opcode_at_ = at_;
      if (at_ == bytes_.size()) return Error("the bytes end before the opcode STOP");
      if (count == kMaxPickleOpcodes) {
        return Error(absl::StrCat("there are more than ", kMaxPickleOpcodes, " opcodes"));
      }
      LRA_RETURN_IF_ERROR(Step(static_cast<uint8_t>(bytes_[at_++])));
    }
    return std::move(pickle_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    std::string opcode;
    if (opcode_at_ < bytes_.size()) {
      const auto byte = static_cast<uint8_t>(bytes_[opcode_at_]);
      opcode = absl::ascii_isprint(byte) ? absl::StrFormat(", opcode '%c'", byte)
                                         : absl::StrFormat(", opcode 0x%02x", byte);
    }
    return absl::InvalidArgumentError(absl::StrCat("byte ", opcode_at_, opcode, ": ", what));
  }

  absl::Status Step(uint8_t opcode) {
    switch (opcode) {
      case kProto:
      case kFrame:
      case kStop:
        return StepFrame(opcode);
      case kMark:
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case kNoneOp:
        return Push({Kind::kNone});
      case kNewTrue:
      case kNewFalse:
        return Push({Kind::kBool, false, opcode == kNewTrue ? 1 : 0});
      case kBinInt:
        return PushInt(4);
      case kBinInt1:
        return PushInt(1);
      case kBinInt2:
        return PushInt(2);
      case kLong1:
        return PushLong();
      case kEmptyDict:
        return Push({Kind::kDict});
      case kEmptyList:
        return Push({Kind::kList});
      case kEmptyTuple:
        return Push({Kind::kTuple});
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return PushTuple(opcode - kTuple1 + 1);
      case kTupleOp:
        return PushMarkedTuple();
      case kReduce:
        return Reduce();
      case kBuild:
        return Build();
      case kGlobalOp:
        return PushNamedGlobal();
      case kStackGlobal:
        return PushStackGlobal();
      default:
        return StepContainer(opcode);
    }
  }

  absl::Status StepContainer(uint8_t opcode) {
    switch (opcode) {
      case kAppend:
        return Extend(Kind::kList, 1);
      case kAppends:
        return ExtendMarked(Kind::kList);
      case kSetItem:
        return Extend(Kind::kDict, 2);
      case kSetItems:
        return ExtendMarked(Kind::kDict);
      case kBinPut:
        return Put(1);
      case kLongBinPut:
        return Put(4);
      case kMemoize:
        return PutAt(static_cast<uint32_t>(memo_.size()));
      case kBinGet:
        return Get(1);
      case kLongBinGet:
        return Get(4);
      default:
        return StepString(opcode);
    }
  }

  absl::Status StepString(uint8_t opcode) {
    switch (opcode) {
      case kShortBinString:
      case kShortBinBytes:
        return PushString(Kind::kBytes, 1);
      case kBinString:
      case kBinBytes:
        return PushString(Kind::kBytes, 4);
      case kBinBytes8:
      case kByteArray8:
        return PushString(Kind::kBytes, 8);
      case kShortBinUnicode:
        return PushString(Kind::kText, 1);
      case kBinUnicode:
        return PushString(Kind::kText, 4);
      case kBinUnicode8:
        return PushString(Kind::kText, 8);
      default:
        return Error("a dictionary of strings, integers, lists and arrays has no such opcode");
    }
  }

  absl::Status StepFrame(uint8_t opcode) {
    if (opcode == kStop) {
      if (!marks_.empty() || stack_.size() != 1) return Error("the end, but not of one value");
      if (at_ != bytes_.size()) {
        return Error(absl::StrCat(bytes_.size() - at_, " bytes behind the end"));
      }
      pickle_.root_ = stack_[0];
      return absl::OkStatus();
    }
    LRA_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(opcode == kProto ? 1 : 8));
    if (opcode == kProto && (opcode_at_ != 0 || number < 2 || number > 5)) {
      return Error(absl::StrCat("protocol ", number, "; one of 2 to 5, once, is expected"));
    }
    if (opcode == kFrame && number > bytes_.size() - at_) return TooShort(number);
    return absl::OkStatus();
  }

  absl::Status TooShort(uint64_t needed) const {
    return Error(absl::StrCat(needed, " bytes should follow; ", bytes_.size() - at_, " are left"));
  }

  absl::StatusOr<absl::string_view> Take(uint64_t size_bytes) {
    if (size_bytes > bytes_.size() - at_) return TooShort(size_bytes);
    const absl::string_view taken = bytes_.substr(at_, size_bytes);
    at_ += size_bytes;
    return taken;
  }

  // Reads a little-endian number of at most 8 bytes.
  absl::StatusOr<uint64_t> TakeNumber(size_t size_bytes) {
    LRA_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(size_bytes));
    uint64_t number = 0;
    for (size_t i = 0; i < size_bytes; ++i) {
      number |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    }
    return number;
  }

  // The number of values above the last mark.
  size_t Depth() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  absl::StatusOr<PickleValue*> Pop() {
    if (Depth() == 0) return Error("the stack is empty");
    PickleValue* const value = stack_.back();
    stack_.pop_back();
    return value;
  }

  absl::Status Push(PickleValue value) {
    pickle_.values_.push_back(std::move(value));
    stack_.push_back(&pickle_.values_.back());
    return absl::OkStatus();
  }

  absl::Status PushMade(absl::StatusOr<PickleValue> value) {
    return value.ok() ? Push(*std::move(value)) : Error(value.status().message());
  }

  absl::Status PushInt(size_t size_bytes) {
    LRA_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(size_bytes));
    // Only BININT is signed; the other two integer opcodes are not.
    const bool is_signed = size_bytes == 4;
    return Push({Kind::kInt, false,
                 is_signed ? static_cast<int32_t>(number) : static_cast<int64_t>(number)});
  }

  absl::Status PushLong() {
    LRA_ASSIGN_OR_RETURN(const uint64_t size_bytes, TakeNumber(1));
    if (size_bytes > 8) return Error(absl::StrCat("an integer of ", size_bytes, " bytes"));
    LRA_ASSIGN_OR_RETURN(uint64_t number, TakeNumber(size_bytes));
    if (size_bytes > 0 && size_bytes < 8 && number >> (8 * size_bytes - 1) != 0) {
      number |= ~uint64_t{0} << (8 * size_bytes);  // extends the sign
    }
    return Push({Kind::kInt, false, static_cast<int64_t>(number)});
  }

  absl::Status PushString(Kind kind, size_t length_bytes) {
    LRA_ASSIGN_OR_RETURN(const uint64_t size_bytes, TakeNumber(length_bytes));
    LRA_ASSIGN_OR_RETURN(const absl::string_view text, Take(size_bytes));
    return Push({kind, false, 0, text});
  }

  // Takes the topmost `count` values off the stack, the lowest first.
  absl::StatusOr<std::vector<const PickleValue*>> PopMany(size_t count) {
    if (Depth() < count) return Error("the stack holds too few values");
    std::vector<const PickleValue*> values(stack_.end() - static_cast<std::ptrdiff_t>(count),
                                           stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }

  absl::StatusOr<std::vector<const PickleValue*>> PopMarked() {
    if (marks_.empty()) return Error("there is no mark");
    LRA_ASSIGN_OR_RETURN(std::vector<const PickleValue*> values, PopMany(Depth()));
    marks_.pop_back();
    return values;
  }

  absl::Status PushTuple(size_t count) {
    LRA_ASSIGN_OR_RETURN(std::vector<const PickleValue*> items, PopMany(count));
    return Push({Kind::kTuple, false, 0, {}, std::move(items)});
  }

  absl::Status PushMarkedTuple() {
    LRA_ASSIGN_OR_RETURN(std::vector<const PickleValue*> items, PopMarked());
    return Push({Kind::kTuple, false, 0, {}, std::move(items)});
  }

  absl::Status Extend(Kind kind, size_t count) {
    LRA_ASSIGN_OR_RETURN(const std::vector<const PickleValue*> items, PopMany(count));
    return ExtendBy(kind, items);
  }

  absl::Status ExtendMarked(Kind kind) {
    LRA_ASSIGN_OR_RETURN(const std::vector<const PickleValue*> items, PopMarked());
    return ExtendBy(kind, items);
  }

  absl::Status ExtendBy(Kind kind, const std::vector<const PickleValue*>& items) {
    if (Depth() == 0 || stack_.back()->kind != kind) {
      return Error(absl::StrCat(PickleKindName(kind), " to add to is expected"));
    }
    if (kind == Kind::kDict && items.size() % 2 != 0) return Error("a key without a value");
    std::vector<const PickleValue*>& held = stack_.back()->items;
    held.insert(held.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  absl::Status Put(size_t size_bytes) {
    LRA_ASSIGN_OR_RETURN(const uint64_t index, TakeNumber(size_bytes));
    return PutAt(static_cast<uint32_t>(index));
  }

  absl::Status PutAt(uint32_t index) {
    if (Depth() == 0) return Error("the stack is empty");
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Get(size_t size_bytes) {
    LRA_ASSIGN_OR_RETURN(const uint64_t index, TakeNumber(size_bytes));
    const auto it = memo_.find(static_cast<uint32_t>(index));
    if (it == memo_.end()) return Error(absl::StrCat("nothing was kept under ", index));
    stack_.push_back(it->second);
    return absl::OkStatus();
  }

  absl::Status PushGlobal(absl::string_view module, absl::string_view name) {
    return PushMade(KnownGlobal(module, name));
  }

  absl::Status PushNamedGlobal() {
    absl::string_view parts[2];
    for (absl::string_view& part : parts) {
      const absl::string_view rest = bytes_.substr(at_);
      part = rest.substr(0, rest.find('\n'));
      if (part.size() == rest.size()) return Error("a name without an end");
      at_ += part.size() + 1;
    }
    return PushGlobal(parts[0], parts[1]);
  }

  absl::Status PushStackGlobal() {
    LRA_ASSIGN_OR_RETURN(const PickleValue* const name, Pop());
    LRA_ASSIGN_OR_RETURN(const PickleValue* const module, Pop());
    if (name->kind != Kind::kText || module->kind != Kind::kText) {
      return Error("a name that is no string");
    }
    return PushGlobal(module->bytes, name->bytes);
  }

  absl::Status Reduce() {
    LRA_ASSIGN_OR_RETURN(const PickleValue* const arguments, Pop());
    LRA_ASSIGN_OR_RETURN(const PickleValue* const callee, Pop());
    return PushMade(Call(*callee, *arguments));
  }

  absl::Status Build() {
    LRA_ASSIGN_OR_RETURN(const PickleValue* const state, Pop());
    if (Depth() == 0) return Error("the stack is empty");
    const absl::Status status = SetState(*state, stack_.back());
    return status.ok() ? status : Error(status.message());
  }

  const absl::string_view bytes_;
  size_t at_ = 0, opcode_at_ = 0;
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // sizes of the stack at the marks
  absl::flat_hash_map<uint32_t, PickleValue*> memo_;
};

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes) { return PickleMachine(bytes).Run(); }

}  // namespace lra::image
