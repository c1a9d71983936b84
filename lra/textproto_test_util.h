#ifndef LRA_TEXTPROTO_TEST_UTIL_H_
#define LRA_TEXTPROTO_TEST_UTIL_H_

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lra/textproto.h"

namespace lra {

// The message of a text proto; fails the test where it cannot be read.
template <class Message>
Message Parse(absl::string_view text) {
  Message message;
  EXPECT_EQ(ParseTextProto(text, "test", &message), absl::OkStatus());
  return message;
}

}  // namespace lra

#endif  // LRA_TEXTPROTO_TEST_UTIL_H_
