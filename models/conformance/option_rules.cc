#include "models/conformance/option_rules.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/options.pb.h"
#include "lra/reflection.h"

namespace lra::internal {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

class OptionRules {
 public:
  OptionRules(absl::string_view name, const AttentionMaker& maker, const pb::Message& options)
      : name_(name), maker_(maker), options_(options) {}

  ConformanceResult Check(const Field* field) {
    wrong_.clear();
    const std::string path = absl::StrCat("attention.options.", field->name());
    if (!field->has_presence()) wrong_.emplace_back("is not `optional`");
    if (!options_.GetReflection()->HasField(options_, field)) wrong_.emplace_back("is not set");
    CheckUnset(field);
    for (const std::string& value : ImpossibleValues(field)) CheckValueRefused(field, value);
    return {"O",
            name_,
            wrong_.empty(),
            static_cast<double>(wrong_.size()),
            0,
            absl::StrCat(
                path, ": ",
                wrong_.empty() ? "demanded and held to its values" : absl::StrJoin(wrong_, ", "))};
  }

 private:
  std::unique_ptr<pb::Message> Copy() const {
    std::unique_ptr<pb::Message> copy(options_.New());
    copy->CopyFrom(options_);
    return copy;
  }

  // The factory's refusal of these options; empty where it made an attention of them.
  std::string Refusal(const pb::Message& options) const {
    ParameterStore parameters(1);
    AttentionContext context;
    context.heads = 2;
    context.head_width = 4;
    context.model_width = 8;
    context.max_length_tokens = 64;
    context.parameters = &parameters;
    context.options.PackFrom(options);
    return std::string(maker_(context).status().message());
  }

  void CheckUnset(const Field* field) {
    const std::unique_ptr<pb::Message> options = Copy();
    options->GetReflection()->ClearField(options.get(), field);
    const std::string refusal = Refusal(*options);
    const std::string file = absl::StrCat("configs/attentions/", name_, ".textproto");
    if (refusal.empty()) {
      wrong_.emplace_back("the factory has a default of its own");
    } else if (!absl::StrContains(refusal, field->name()) || !absl::StrContains(refusal, file)) {
      wrong_.push_back(absl::StrCat("its refusal without a value does not name it and ", file,
                                    ": \"", refusal, "\""));
    }
  }

  // Values as text that must be refused. Records a number without a range as wrong.
  std::vector<std::string> ImpossibleValues(const Field* field) {
    if (field->cpp_type() == Field::CPPTYPE_ENUM) return {"0"};  // _UNSPECIFIED
    if (field->cpp_type() == Field::CPPTYPE_BOOL || field->cpp_type() == Field::CPPTYPE_STRING)
      return {};
    if (!field->options().HasExtension(range)) {
      wrong_.emplace_back("is a number without (range)");
      return {};
    }
    const Range& valid = field->options().GetExtension(range);
    return {ShortestText(valid.min() - 1), ShortestText(valid.max() + 1)};
  }

  void CheckValueRefused(const Field* field, const std::string& value) {
    const std::unique_ptr<pb::Message> options = Copy();
    // What the field's type cannot hold, nobody can set.
    if (!pb::TextFormat::ParseFieldValueFromString(value, field, options.get())) return;
    const std::string refusal = Refusal(*options);
    if (refusal.empty()) {
      wrong_.push_back(absl::StrCat("the factory takes ", value));
    } else if (!absl::StrContains(refusal, absl::StrCat("attention.options.", field->name()))) {
      wrong_.push_back(
          absl::StrCat("the refusal of ", value, " does not name it: \"", refusal, "\""));
    }
  }

  const std::string name_;
  const AttentionMaker& maker_;
  const pb::Message& options_;
  std::vector<std::string> wrong_;  // of the option at hand
};

}  // namespace

std::vector<ConformanceResult> CheckOptionRules(absl::string_view name, const AttentionMaker& maker,
                                                const google::protobuf::Any& options) {
  const std::unique_ptr<pb::Message> message = UnpackAny(options);
  if (message == nullptr) return {};
  OptionRules rules(name, maker, *message);
  std::vector<ConformanceResult> results;
  const pb::Descriptor* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field* field = type->field(i);
    if (field->is_repeated() || IsMessageField(field)) continue;  // not for --set
    results.push_back(rules.Check(field));
  }
  return results;
}

}  // namespace lra::internal
