#include "tasks/json_line.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/excerpt.h"
#include "tasks/csv_reader.h"

namespace lra {
namespace {

constexpr absl::string_view kOneObject =
    "one object a line is expected, as in {\"text\": \"well done\", \"label\": \"good\"}; "
    "`jq -c '.[]'` makes lines of an array";

// What is wrong with a line that the parser refused, by the parser's words.
std::string Cause(absl::string_view line, absl::string_view words) {
  if (absl::StrContains(words, "UTF-8")) {
    return absl::StrCat("the line is not UTF-8: ", Excerpt(line), "; write the file as UTF-8");
  }
  if (absl::StrContains(words, "surrogate")) {
    return absl::StrCat("the line has half of a surrogate pair: ", Excerpt(line),
                        "; write the character whole, or as both halves, e.g. \\ud83d\\ude00");
  }
  return absl::StrCat("the line is no JSON: ", Excerpt(line), "; ", kOneObject);
}

}  // namespace

absl::Status ParseJsonLine(absl::string_view where, absl::string_view line,
                           nlohmann::json* object) {
  if (line.size() > kMaxFieldBytes) {
    return absl::DataLossError(
        absl::StrCat(where, ": the line is longer than ", kMaxFieldBytes, " bytes; ", kOneObject));
  }
  std::set<std::string> keys;
  std::string repeated;
  const auto note_key = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& key) {
    const bool is_key = event == nlohmann::json::parse_event_t::key && depth == 1;
    if (is_key && !keys.insert(key.get<std::string>()).second) repeated = key.get<std::string>();
    return true;
  };
  try {
    *object = nlohmann::json::parse(line.data(), line.data() + line.size(), note_key);
  } catch (const nlohmann::json::parse_error& error) {
    return absl::DataLossError(
        absl::StrCat(where, ", column ", error.byte, ": ", Cause(line, error.what())));
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat(
        where, ": the line is no JSON that can be read: ", Excerpt(line), ": ", error.what()));
  }
  if (object->is_object() && repeated.empty()) return absl::OkStatus();
  if (object->is_object()) {
    return absl::DataLossError(absl::StrCat(where, ": the object has two fields ",
                                            Excerpt(repeated), ": which one counts?"));
  }
  return absl::DataLossError(
      absl::StrCat(where, ": the line is no object: ", Excerpt(line), "; ", kOneObject));
}

}  // namespace lra
