// JSON as text, which every listing and file of this program is made by.
#ifndef LRA_JSON_TEXT_H_
#define LRA_JSON_TEXT_H_

#include <string>

namespace lra {

// The text of one of nlohmann's values, with so many spaces a level; -1: in one line. A name of a
// file may hold any bytes, but JSON holds UTF-8 alone: other bytes become U+FFFD, where the library
// would throw and one name would end a whole listing.
template <class Json>
std::string JsonText(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lra

#endif  // LRA_JSON_TEXT_H_
