#include "models/conformance/option_effects.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/options.pb.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
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
};

// What is not finite is equal where it is the same.
bool AreEqual(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() &&
         at::allclose(a.to(at::kDouble), b.to(at::kDouble), 0, 0, /*equal_nan=*/true);
}

bool operator==(const Seen& a, const Seen& b) {
  return a.words == b.words && std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(),
                                          b.tensors.end(), AreEqual);
}

void AddOwned(const std::vector<Parameter>& owned, Seen* seen) {
  for (const Parameter& parameter : owned) {
    seen->words.push_back(
        absl::StrCat(parameter.name, " ", parameter.role, " ", parameter.is_matrix));
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
  if (is_training) {
    // At probability 0 it keys a method's own noise.
    const DropoutKey key = {0, 1, 2, 3, at::tensor(std::vector<int64_t>{4, 5}, at::kLong)};
    DropoutKey dropping = key;
    dropping.probability = 0.25;
    c.input.weight_dropout = attention.traits().supports_weight_dropout ? dropping : key;
    if (attention.traits().supports_inner_dropout) c.input.inner_dropout = {dropping, dropping};
  }
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

// Near the number first, then the ends of its range, but no count far above that of the tokens,
// whose work nobody would wait for.
std::vector<double> OtherNumbers(double number, const Field* field) {
  const Range& valid = field->options().GetExtension(range);
  std::vector<double> candidates = {number / 2, 2 * number, number + 1, valid.min(), valid.max()};
  if (IsWhole(field)) {
    const bool is_length = field->options().GetExtension(lra::is_length);
    candidates.insert(is_length ? candidates.begin() : candidates.end(), kFewTokens);
    // What has to be as large as the sequence is long.
    candidates.insert(candidates.end(), {double(kTokens), double(2 * kTokens)});
  }
  std::vector<double> numbers;
  for (double value : candidates) {
    if (IsWhole(field)) value = std::floor(value);
    const bool is_long = IsWhole(field) && value > 2 * std::max<double>(kTokens, number);
    if (value >= valid.min() && value <= valid.max() && !is_long) numbers.push_back(value);
  }
  return numbers;
}

// Values as text that are others than the field's own, each once.
std::vector<std::string> OtherValues(const pb::Message& options, const Field* field) {
  const std::string own = ValueText(options, field, -1);
  std::vector<std::string> candidates, values;
  double number = 0;
  if (field->cpp_type() == Field::CPPTYPE_ENUM) {
    candidates = EnumNames(field->enum_type());
  } else if (field->cpp_type() == Field::CPPTYPE_BOOL) {
    candidates = {"true", "false"};
  } else if (field->options().HasExtension(range) && absl::SimpleAtod(own, &number)) {
    for (const double other : OtherNumbers(number, field))
      candidates.push_back(ShortestText(other));
  }
  for (std::string& value : candidates) {
    const bool is_there = std::find(values.begin(), values.end(), value) != values.end();
    if (value != own && !is_there) values.push_back(std::move(value));
  }
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
    const std::vector<std::string> values = OtherValues(options_, field);
    if (values.empty()) return std::nullopt;
    was_compared_ = false;
    taken_.clear();
    refused_.clear();
    const bool is_choice = field->cpp_type() == Field::CPPTYPE_ENUM;
    const bool has_effect = Differs(field) || (is_choice && HoldsOthers());
    const std::string path = absl::StrCat("attention.options.", field->name());
    if (has_effect) return Result(true, absl::StrCat(path, ": has an effect"));
    return Result(
        false, absl::StrCat(path, was_compared_ ? ": has no effect" : ": no two values can be had",
                            ", alone or beside two other options, on ", kTokens, " and ",
                            kManyTokens, " tokens (tried ", absl::StrJoin(values, ", "),
                            "): read it, or take it out of the options"));
  }

 private:
  bool Differs(const Field* field) {
    tokens_ = kTokens;
    for (int others = 0; others <= kMostBeside; ++others) {
      if (DiffersBeside(options_, field, others, 0)) return true;
    }
    tokens_ = kManyTokens;
    return DiffersAlone(options_, field);
  }

  // Whether a choice is refused beside some options and taken beside others: a name for what these
  // have to be.
  bool HoldsOthers() const {
    return std::any_of(taken_.begin(), taken_.end(),
                       [&](const std::string& value) { return refused_.count(value) > 0; });
  }

  // With so many of the other options from the `first` on changed.
  bool DiffersBeside(const pb::Message& options, const Field* field, int others, int first) {
    if (others == 0) return DiffersAlone(options, field);
    const pb::Descriptor* type = options.GetDescriptor();
    for (int i = first; i < type->field_count(); ++i) {
      const Field* other = type->field(i);
      if (other == field || !IsSettable(other)) continue;
      for (const std::string& value : ValuesBeside(options, other)) {
        const Options beside = With(options, other, value);
        if (beside != nullptr && DiffersBeside(*beside, field, others - 1, i + 1)) return true;
      }
    }
    return false;
  }

  // Two attentions that were made, whatever the field's own value is.
  bool DiffersAlone(const pb::Message& options, const Field* field) {
    std::optional<Seen> first = Look(options);
    const bool is_own_taken = first.has_value();
    for (const std::string& value : OtherValues(options, field)) {
      const Options changed = With(options, field, value);
      std::optional<Seen> other = changed == nullptr ? std::nullopt : Look(*changed);
      if (is_own_taken) (other ? taken_ : refused_).insert(value);
      if (!other) continue;
      if (!first) {
        first = std::move(other);
        continue;
      }
      was_compared_ = true;
      if (!(*other == *first)) return true;
    }
    return false;
  }

  // Nothing where no attention can be made of the options.
  std::optional<Seen> Look(const pb::Message& options) const {
    std::optional<Seen> seen;
    const absl::Status status = CatchTorch([&]() -> absl::Status {
      ParameterStore parameters(1);
      LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Attention> attention, Make(options, &parameters));
      seen = {{absl::StrCat(attention->traits().causality)}, {}};
      AddOwned(parameters.parameters(), &*seen);
      AddOwned(parameters.buffers(), &*seen);
      for (const bool is_training : {false, true}) {
        for (const bool causal : {false, true})
          AddRun(*attention, parameters, tokens_, is_training, causal, &*seen);
      }
      return absl::OkStatus();
    });
    return status.ok() ? seen : std::nullopt;
  }

  absl::StatusOr<std::unique_ptr<Attention>> Make(const pb::Message& options,
                                                  ParameterStore* parameters) const {
    AttentionContext context;
    context.heads = kHeads;
    context.head_width = kHeadWidth;
    context.model_width = LayerInputWidth(kHeads, kHeadWidth);
    context.max_length_tokens = tokens_;
    context.parameters = parameters;
    context.options.PackFrom(options);
    absl::StatusOr<std::unique_ptr<Attention>> made = maker_(context);
    if (!made.ok() || (*made)->traits().projections != Projections::kNone) return made;
    *parameters = ParameterStore(1);
    context.model_width = kHeads * kHeadWidth;
    return maker_(context);
  }

  ConformanceResult Result(bool has_effect, std::string detail) const {
    return {"E", name_, has_effect, has_effect ? 0.0 : 1.0, 0, std::move(detail)};
  }

  const std::string name_;
  const AttentionMaker& maker_;
  const pb::Message& options_;
  int64_t tokens_ = kTokens;
  // The values of the option at hand that were taken, and refused, where its own was.
  std::set<std::string> taken_, refused_;
  bool was_compared_ = false;
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
