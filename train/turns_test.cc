#include "train/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lra {
namespace {

TEST(TurnsTest, GoRoundInOrderUntilEachIsDone) {
  Turns turns;
  std::string seen;  // nobody else writes at the same time
  turns.Run(3, [&](int place) {
    for (int i = 0; i < 3 - place; ++i) {
      seen += static_cast<char>('a' + place);
      EXPECT_GE(turns.Pass(), 0);
    }
    seen += static_cast<char>('A' + place);
  });
  EXPECT_EQ(seen, "abcabCaBA");
}

TEST(TurnsTest, OneAloneKeepsItsTurn) {
  Turns turns;
  int passed = 0;
  turns.Run(1, [&](int) {
    for (; passed < 5; ++passed) turns.Pass();
  });
  EXPECT_EQ(passed, 5);
  turns.Run(0, [&](int) { ++passed; });
  EXPECT_EQ(passed, 5);
}

}  // namespace
}  // namespace lra
