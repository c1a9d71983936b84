#include "lra/text_table.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(TextTable, MarkdownIsPaddedAndNumbersStandRight) {
  EXPECT_EQ(ToMarkdown({"T", {"name", "N"}, {{"\u00e4b", "10"}, {"c", "-"}, {"d"}}}),
            "T\n"
            "\n"
            "| name | N   |\n"
            "|------|-----|\n"
            "| \u00e4b   |  10 |\n"
            "| c    |   - |\n"
            "| d    |     |\n");
}

TEST(TextTable, CsvQuotesWhatItMust) {
  EXPECT_EQ(ToCsv({"T", {"a", "b"}, {{"x,y", "say \"no\""}}}),
            "table,a,b\n"
            "T,\"x,y\",\"say \"\"no\"\"\"\n");
}

}  // namespace
}  // namespace lra
