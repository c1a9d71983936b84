#include "datasets/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/archive_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string NpyOf(const std::vector<T>& values) {
  return absl::StrCat(
      FormatNpyHeader(NpyTypeOf<T>(), {static_cast<int64_t>(values.size())}),
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

// The error of a file with these entries.
std::string Refusal(const std::string& path, const std::vector<TestEntry>& entries,
                    int64_t max_bytes = 1 << 20) {
  WriteArchive(path, /*zip=*/true, entries);
  const auto arrays = ReadNpz(path, {"predictions", "index"}, max_bytes);
  EXPECT_FALSE(arrays.ok());
  return std::string(arrays.status().message());
}

TEST(NpzTest, GivesArraysByName) {
  const TestFolder folder;
  const std::string path = folder.File("p.npz");
  WriteArchive(
      path, true,
      {{"index.npy", NpyOf<int64_t>({2, 0, 1})}, {"predictions.npy", NpyOf<float>({0.5f, 1, -2})}});
  const auto arrays = ReadNpz(path, {"predictions", "index"}, 1 << 20);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->size(), 2);
  EXPECT_THAT(arrays->at("index").values<int64_t>(), ElementsAre(2, 0, 1));
  EXPECT_THAT(arrays->at("predictions").values<float>(), ElementsAre(0.5f, 1, -2));
}

TEST(NpzTest, RefusesWhatDoesNotBelongThere) {
  const TestFolder folder;
  const std::string path = folder.File("p.npz"), array = NpyOf<int64_t>({1, 2});
  EXPECT_THAT(
      Refusal(path, {{"labels.npy", array}}),
      AllOf(HasSubstr("p.npz, array \"labels\""), HasSubstr("is not one of predictions, index")));
  EXPECT_THAT(Refusal(path, {{"index.npy", array}, {"index.npy", array}}),
              HasSubstr("array \"index\" occurs twice"));
  EXPECT_THAT(Refusal(path, {{"index.npy", "no array"}}),
              AllOf(HasSubstr("p.npz, array \"index\""), HasSubstr("NumPy's mark")));
  // A few bytes of zip may unpack to anything.
  EXPECT_THAT(Refusal(path, {{"index.npy", NpyOf<int64_t>(std::vector<int64_t>(1000))}}, 4096),
              HasSubstr("larger than anything that belongs here"));
}

}  // namespace
}  // namespace lra
