#include "models/conformance/option_effects.h"

#include <ATen/ops/tensor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/options.pb.h"
#include "lra/reflection.h"
#include "models/base/torch_status.h"
#include "models/conformance/comparison.h"
#include "models/conformance/one_thread.h"

namespace lra::internal {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using Options = std::unique_ptr<pb::Message>;

constexpr int64_t kHeads = 2, kHeadWidth = 4, kTokens = 64;
// A length of which there are many in kTokens: blocks have neighbours only where there are some.
constexpr int64_t kFewTokens = 4;
// How many other options may have to be set for one to be read: of several maps a leaky one, and a
// normaliser that bears negative sums.
constexpr int kMostBeside = 2;
// Some options matter to long sequences only: BigBird's program draws from the first 1,024 tokens.
constexpr int64_t kManyTokens = 1280;

// All that an option can change of an attention, made and run as any other.
struct Seen {
  std::vector<std::string> words;
  std::vector<at::Tensor> tensors;

  bool operator==(const Seen& other) const {
    return words == other.words &&
           std::equal(tensors.begin(), tensors.end(), other.tensors.begin(), other.tensors.end(),
                      [](const at::Tensor& a, const at::Tensor& b) {
                        return a.sizes() == b.sizes() && MaxDifference(a, b) == 0;
                      });
  }
};

void AddOwned(const std::vector<Parameter>& owned, Seen* seen) {
  for (const Parameter& parameter : owned) {
    seen->words.push_back(absl::StrCat(parameter.name, " ", parameter.role));
    seen->tensors.push_back(parameter.value.detach());
  }
  seen->words.emplace_back("end");
}

// What it refuses, it says.
void AddRun(const Attention& attention, const ParameterStore& parameters, int64_t tokens,
            bool is_training, bool causal, Seen* seen) {
  AttentionCase c(7, 2, kHeads, tokens, tokens, kHeadWidth);
  c.MaskFromLengths({tokens, tokens - 11});
  c.input.causal = causal;
  c.input.is_training = is_training;
  // No dropout: what keys a method's own noise.
  if (is_training)
    c.input.weight_dropout = {0, 1, 2, 3, at::tensor(std::vector<int64_t>{4, 5}, at::kLong)};
  const absl::Status status = CatchTorch([&]() -> absl::Status {
    const AttentionOutcome outcome = RunAttention(attention, Form::kFast, c, at::kCPU, parameters);
    seen->tensors.push_back(RealRows(outcome.output, c));
    for (const at::Tensor& gradient : {outcome.dq, outcome.dk, outcome.dv, outcome.dx})
      if (gradient.defined()) seen->tensors.push_back(gradient);
    seen->tensors.insert(seen->tensors.end(), outcome.parameters.begin(), outcome.parameters.end());
    return absl::OkStatus();
  });
  seen->words.emplace_back(status.message());
}

bool IsWhole(const Field* field) {
  return field->cpp_type() != Field::CPPTYPE_DOUBLE && field->cpp_type() != Field::CPPTYPE_FLOAT;
}

// Near the number first, then the ends of its range, but no count above that of the tokens, whose
// work nobody would wait for.
std::vector<double> OtherNumbers(double number, const Field* field) {
  const Range& valid = field->options().GetExtension(range);
  std::vector<double> numbers;
  if (field->options().GetExtension(is_length)) numbers.push_back(kFewTokens);
  for (const double value : {number / 2, 2 * number, number + 1, valid.min(), valid.max()}) {
    if (!IsWhole(field))
      numbers.push_back(value);
    else if (value <= std::max<double>(kTokens, 2 * number))
      numbers.push_back(std::floor(value));
  }
  numbers.erase(std::remove_if(numbers.begin(), numbers.end(),
                               [&](double v) { return v < valid.min() || v > valid.max(); }),
                numbers.end());
  return numbers;
}

// Values as text that are others than the field's own.
std::vector<std::string> OtherValues(const pb::Message& options, const Field* field) {
  const std::string own = ValueText(options, field, -1);
  std::vector<std::string> values;
  if (field->cpp_type() == Field::CPPTYPE_ENUM) {
    values = EnumNames(field->enum_type());
  } else if (field->cpp_type() == Field::CPPTYPE_BOOL) {
    values = {"true", "false"};
  } else if (field->options().HasExtension(range)) {
    for (const double number : OtherNumbers(std::stod(own), field))
      values.push_back(ShortestText(number));
  }
  values.erase(std::remove(values.begin(), values.end(), own), values.end());
  return values;
}

// Those to set another option beside: all of a choice, and of a number the nearest.
std::vector<std::string> ValuesBeside(const pb::Message& options, const Field* field) {
  std::vector<std::string> values = OtherValues(options, field);
  const bool is_choice =
      field->cpp_type() == Field::CPPTYPE_ENUM || field->cpp_type() == Field::CPPTYPE_BOOL;
  if (!is_choice && values.size() > 2) values.resize(2);
  return values;
}

// By --set.
bool IsSettable(const Field* field) { return !field->is_repeated() && !IsMessageField(field); }

Options With(const pb::Message& options, const Field* field, const std::string& value) {
  Options changed(options.New());
  changed->CopyFrom(options);
  const bool is_read = pb::TextFormat::ParseFieldValueFromString(value, field, changed.get());
  return is_read ? std::move(changed) : nullptr;
}

class OptionEffects {
 public:
  OptionEffects(absl::string_view name, const AttentionMaker& maker, const pb::Message& options)
      : name_(name), maker_(maker), options_(options) {}

  // Nothing where there is no other value.
  std::optional<ConformanceResult> Check(const Field* field) {
    tried_ = OtherValues(options_, field);
    if (tried_.empty()) return std::nullopt;
    tokens_ = kTokens;
    for (int others = 0; others <= kMostBeside; ++others) {
      if (IsSeen(options_, field, others)) return Result(field, true);
    }
    tokens_ = kManyTokens;
    return Result(field, IsSeen(options_, field));
  }

 private:
  // Whether another value is seen to have an effect, so many of the other options from the
  // `first` on being changed.
  bool IsSeen(const pb::Message& options, const Field* field, int others, int first = 0) {
    if (others == 0) return IsSeen(options, field);
    const pb::Descriptor* type = options.GetDescriptor();
    for (int i = first; i < type->field_count(); ++i) {
      const Field* other = type->field(i);
      if (other == field || !IsSettable(other)) continue;
      for (const std::string& value : ValuesBeside(options, other)) {
        const Options beside = With(options, other, value);
        if (beside != nullptr && IsSeen(*beside, field, others - 1, i + 1)) return true;
      }
    }
    return false;
  }

  bool IsSeen(const pb::Message& options, const Field* field) {
    const Seen own = Look(options);
    for (const std::string& value : OtherValues(options, field)) {
      const Options changed = With(options, field, value);
      if (changed != nullptr && Look(*changed) != own) return true;
    }
    return false;
  }

  // A refusal is seen as well.
  Seen Look(const pb::Message& options) const {
    ParameterStore parameters(1);
    AttentionContext context;
    context.heads = kHeads;
    context.head_width = kHeadWidth;
    context.model_width = LayerInputWidth(kHeads, kHeadWidth);
    context.max_length_tokens = tokens_;
    context.parameters = &parameters;
    context.options.PackFrom(options);
    auto made = maker_(context);
    if (made.ok() && (*made)->traits().projections == Projections::kNone) {
      parameters = ParameterStore(1);
      context.model_width = kHeads * kHeadWidth;
      made = maker_(context);
    }
    if (!made.ok()) return {{"refused"}, {}};
    Seen seen = {{absl::StrCat((*made)->traits().causality)}, {}};
    AddOwned(parameters.parameters(), &seen);
    AddOwned(parameters.buffers(), &seen);
    for (const bool is_training : {false, true}) {
      for (const bool causal : {false, true})
        AddRun(**made, parameters, tokens_, is_training, causal, &seen);
    }
    return seen;
  }

  ConformanceResult Result(const Field* field, bool is_seen) const {
    return {"O",
            name_,
            is_seen,
            is_seen ? 0.0 : 1.0,
            0,
            absl::StrCat("attention.options.", field->name(),
                         is_seen ? ": has an effect" : ": has no effect; tried ",
                         is_seen ? "" : absl::StrJoin(tried_, ", "))};
  }

  const std::string name_;
  const AttentionMaker& maker_;
  const pb::Message& options_;
  std::vector<std::string> tried_;  // of the option at hand
  int64_t tokens_ = kTokens;
};

}  // namespace

std::vector<ConformanceResult> CheckOptionEffects(absl::string_view name,
                                                  const AttentionMaker& maker,
                                                  const google::protobuf::Any& options) {
  const Options message = UnpackAny(options);
  if (message == nullptr) return {};
  const OneThread one_thread;
  OptionEffects effects(name, maker, *message);
  std::vector<ConformanceResult> results;
  const pb::Descriptor* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    if (!IsSettable(field)) continue;
    if (auto result = effects.Check(field)) results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace lra::internal
