#include "lra/textproto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "lra/check.h"
#include "lra/files.h"
#include "lra/reflection.h"
#include "lra/sealed_text.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

namespace pb = google::protobuf;

constexpr char kTypeHost[] = "type.googleapis.com";

// Finds the enum of a field called `name` in a message of type `type`, or in one nested in it; null
// if there is none.
const pb::EnumDescriptor* FindEnum(const pb::Descriptor* type, const std::string& name,
                                   std::set<const pb::Descriptor*>* seen) {
  if (!seen->insert(type).second) return nullptr;
  for (int i = 0; i < type->field_count(); ++i) {
    const pb::FieldDescriptor* field = type->field(i);
    if (field->enum_type() != nullptr && field->name() == name) return field->enum_type();
    if (!IsMessageField(field)) continue;
    if (const auto* found = FindEnum(field->message_type(), name, seen)) return found;
  }
  return nullptr;
}

std::string FieldHint(const std::string& type_name, const std::string& name) {
  const pb::Descriptor* type =
      pb::DescriptorPool::generated_pool()->FindMessageTypeByName(type_name);
  if (type == nullptr) return "";
  const std::vector<std::string> names = FieldNames(type);
  const std::string nearest = Nearest(name, names);
  const std::string hint = nearest.empty() ? "" : absl::StrCat(" Did you mean \"", nearest, "\"?");
  return absl::StrCat(hint, " Known: ", absl::StrJoin(names, ", "));
}

// Adds to protobuf's message about an unknown name the nearest and the known names, or what to do.
std::string Hint(const std::string& message, const pb::Descriptor* root) {
  static const std::regex unknown_field(
      "Message type \"([^\"]+)\" has no field named \"([^\"]+)\".*");
  static const std::regex unknown_value(
      "Unknown enumeration value of \"[^\"]+\" for field \"([^\"]+)\".*");
  std::smatch match;
  // Inside an Any, such as the options of a plug-in that is younger than the program.
  if (absl::StartsWith(message, "Could not find type")) {
    return " This program has no such message: correct the name or, if its .proto is new, build "
           "again";
  }
  if (std::regex_match(message, match, unknown_field)) return FieldHint(match[1], match[2]);
  if (!std::regex_match(message, match, unknown_value)) return "";
  std::set<const pb::Descriptor*> seen;
  const pb::EnumDescriptor* type = FindEnum(root, match[1], &seen);
  return type == nullptr ? "" : absl::StrCat(" Known: ", absl::StrJoin(EnumNames(type), ", "));
}

// Keeps the first error only; later ones usually follow from it.
class FirstError : public pb::io::ErrorCollector {
 public:
  FirstError(absl::string_view where, const pb::Descriptor* root) : where_(where), root_(root) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!error_.empty()) return;
    // Protobuf counts lines from 0 and uses -1 for the file as a whole.
    if (line < 0) {
      error_ = absl::StrCat(where_, ": ", message, Hint(message, root_));
      return;
    }
    error_ =
        absl::StrCat(where_, ":", line + 1, ":", column + 1, ": ", message, Hint(message, root_));
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& error() const { return error_; }

 private:
  const std::string where_;
  const pb::Descriptor* const root_;
  std::string error_;
};

std::string DeterministicBytes(const pb::Message& message) {
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  LRA_CHECK(message.SerializeToCodedStream(&coded));
  coded.Trim();
  return bytes;
}

// The position behind the quoted string that begins at `at`.
size_t SkipString(absl::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

// Protobuf's parser calls itself for every brace, and bounds the depth only outside of Any. So the
// braces are counted before it sees them.
absl::Status CheckBraces(absl::string_view text, absl::string_view where) {
  int depth = 0, line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = SkipString(text, at);
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size() - 1);
    if (text[at] == '\n') ++line;
    if (c == '{' || c == '<') ++depth;
    if (c == '}' || c == '>') --depth;
    if (depth > kMaxNesting) return Annotate(TooDeeplyNested(), absl::StrCat(where, ":", line));
    ++at;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseTextProto(absl::string_view text, absl::string_view where, pb::Message* message) {
  if (static_cast<int64_t>(text.size()) > kMaxTextProtoBytes) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": has ", text.size(), " bytes, at most ",
                                                   kMaxTextProtoBytes, " are read"));
  }
  LRA_RETURN_IF_ERROR(CheckBraces(text, where));
  FirstError collector(where, message->GetDescriptor());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  // An Any may also be given by its bytes, which hold no braces.
  if (parser.Parse(&stream, message)) return CheckNesting(*message, where);
  return absl::InvalidArgumentError(collector.error().empty()
                                        ? absl::StrCat(where, ": is not a ", message->GetTypeName())
                                        : collector.error());
}

absl::Status ReadTextProto(absl::string_view path, pb::Message* message) {
  LRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextProtoBytes));
  if (absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff"))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is UTF-16; save it as UTF-8"));
  absl::string_view behind_mark = text;
  absl::ConsumePrefix(&behind_mark, "\xef\xbb\xbf");  // as some editors write
  return ParseTextProto(behind_mark, path, message);
}

std::string ToTextProto(const pb::Message& message) {
  pb::TextFormat::Printer printer;
  printer.SetExpandAny(true);
  std::string text;
  LRA_CHECK(printer.PrintToString(message, &text));
  return text;
}

std::string ToJson(const pb::Message& message) {
  static pb::util::TypeResolver* const resolver =
      pb::util::NewTypeResolverForDescriptorPool(kTypeHost, pb::DescriptorPool::generated_pool());
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // The message goes through its binary form, because MessageToJsonString does not define the order
  // of map entries.
  const auto status =
      pb::util::BinaryToJsonString(resolver, absl::StrCat(kTypeHost, "/", message.GetTypeName()),
                                   DeterministicBytes(message), &json, options);
  LRA_CHECK(status.ok()) << message.GetTypeName() << " has no JSON: " << status.ToString();
  return json;
}

absl::Status WriteSealedTextProto(absl::string_view path, const pb::Message& message) {
  return WriteFileAtomically(path, SealedText(message));
}

absl::Status ReadSealedTextProto(absl::string_view path, pb::Message* message) {
  LRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextProtoBytes));
  LRA_ASSIGN_OR_RETURN(const absl::string_view above, Unseal(text, path));
  return ParseTextProto(above, path, message);
}

}  // namespace lra
