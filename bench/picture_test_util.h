// What tests demand of drawn pictures.
#ifndef LRA_BENCH_PICTURE_TEST_UTIL_H_
#define LRA_BENCH_PICTURE_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lra/files.h"

namespace lra::testing {

// STEM.svg, STEM.pdf and STEM.png are what their names say, the PDF has no time of drawing (or is
// one of cairo 1.18, which compresses it), and the PNG is a column wide: 84 mm are 952 dots of 288
// an inch.
inline void ExpectPictures(const std::string& stem) {
  const auto svg = ReadFile(stem + ".svg"), pdf = ReadFile(stem + ".pdf"),
             png = ReadFile(stem + ".png");
  for (const auto& file : {svg, pdf, png}) ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(*svg, ::testing::HasSubstr("</svg>"));
  EXPECT_EQ(pdf->substr(0, 5), "%PDF-");
  EXPECT_THAT(*pdf, ::testing::AnyOf(::testing::HasSubstr("CreationDate (D:19700101000000Z)"),
                                     ::testing::HasSubstr("/ObjStm")));
  ASSERT_GT(png->size(), 24u);
  EXPECT_EQ(png->substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png->substr(16, 4), std::string("\0\0\x03\xb8", 4));
}

}  // namespace lra::testing

#endif  // LRA_BENCH_PICTURE_TEST_UTIL_H_
