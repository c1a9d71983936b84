#include "datasets/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/npy.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::vector<T> Values(const std::string& path) {
  const auto array = MappedNpy::Open(path);
  EXPECT_TRUE(array.ok()) << array.status();
  if (!array.ok()) return {};
  EXPECT_EQ(array->header().type, NpyTypeOf<T>());
  const auto values = array->values<T>();
  return {values.begin(), values.end()};
}

// The real task, because views belong to tasks; its spec is that of real data but for the sizes.
TaskSpec TextSpec() {
  TaskSpec spec;
  spec.set_name("text");
  spec.set_version(1);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(20);
  spec.set_classes(2);
  spec.set_content(TaskSpec::TEXT);
  return spec;
}

// Twenty texts "aa...", "bb...": text i is the letter i, 1 to 3 times, with label i % 2.
std::vector<EncodedExample> Letters(int64_t count) {
  std::vector<EncodedExample> examples;
  for (int64_t i = 0; i < count; ++i) {
    EncodedExample example;
    example.tokens.assign(1 + i % 3, static_cast<uint16_t>('a' + i));
    example.label = static_cast<int32_t>(i % 2);
    examples.push_back(example);
  }
  return examples;
}

class ExportTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteTestData(folder_.File("data"), TextSpec(), {{"train", Letters(20)}, {"test", Letters(3)}});
    request_.data_dir = folder_.File("data");
    request_.out = folder_.File("out");
  }
  std::string Out(const std::string& file) const { return JoinPath(request_.out, file); }

  const TestFolder folder_;
  ExportRequest request_;
};

// Every example is where its index says, cut and with ids as the view gives them (byte + 1).
TEST_F(ExportTest, WritesWhatAModelReadsAndWhereItIsStored) {
  request_.view.sets = {"split=HOLDOUT", "max_length_tokens=2"};
  const auto splits = ExportView(request_);
  ASSERT_TRUE(splits.ok()) << splits.status();
  ASSERT_EQ(splits->size(), 3);
  EXPECT_EQ((*splits)[1].name, "validation");
  EXPECT_EQ((*splits)[1].stored_split, "train");
  EXPECT_EQ((*splits)[1].examples, 2);  // a tenth of each class
  std::vector<bool> seen(20);
  for (const char* split : {"train", "validation"}) {
    const std::string stem = Out(split);
    const auto index = Values<int64_t>(stem + ".index.npy");
    const auto labels = Values<int32_t>(stem + ".labels.npy");
    const auto ids = Values<int16_t>(stem + ".ids.npy");
    const auto offsets = Values<int64_t>(stem + ".offsets.npy");
    ASSERT_EQ(offsets.size(), index.size() + 1);
    EXPECT_EQ(offsets.back(), static_cast<int64_t>(ids.size()));
    for (size_t i = 0; i < index.size(); ++i) {
      EXPECT_FALSE(seen.at(index[i]));
      seen[index[i]] = true;
      EXPECT_EQ(labels[i], index[i] % 2);
      EXPECT_EQ(offsets[i + 1] - offsets[i], std::min<int64_t>(2, 1 + index[i] % 3));
      EXPECT_EQ(ids[offsets[i]], 'a' + index[i] + 1);
    }
  }
  EXPECT_THAT(seen, testing::Each(true));
  EXPECT_THAT(Values<int64_t>(Out("test.index.npy")), ElementsAre(0, 1, 2));
  const auto json = nlohmann::json::parse(*ReadFile(Out("export.json")));
  EXPECT_EQ(json["task"], "text");
  EXPECT_EQ(json["view"]["split"], "HOLDOUT");
  EXPECT_EQ(json["vocabulary_size"], 257);
  EXPECT_EQ(json["splits"]["validation"]["stored_split"], "train");
}

// torch.randperm(10, generator=torch.Generator().manual_seed(42)) gives 2 6 1 8 4 5 0 9 3 7.
TEST_F(ExportTest, Seed42IsPyTorchsPermutation) {
  request_.data_dir = folder_.File("ten");
  WriteTestData(request_.data_dir, TextSpec(), {{"train", Letters(10)}, {"test", Letters(3)}});
  request_.view.sets = {"split=SEED42"};
  request_.without_inputs = true;
  ASSERT_TRUE(ExportView(request_).ok());
  EXPECT_THAT(Values<int64_t>(Out("train.index.npy")), ElementsAre(2, 6, 1, 8, 4, 5, 0, 9, 3));
  EXPECT_THAT(Values<int64_t>(Out("validation.index.npy")), ElementsAre(7));
  EXPECT_FALSE(FileExists(Out("train.ids.npy")));
}

TEST_F(ExportTest, PromptsAreWrittenWhereExamplesHaveThem) {
  std::vector<EncodedExample> examples = Letters(20);
  for (int16_t i = 0; i < 20; ++i) examples[i].extra = {static_cast<int16_t>(i % 2)};
  request_.data_dir = folder_.File("prompts");
  WriteTestData(request_.data_dir, TextSpec(), {{"train", examples}, {"test", examples}}, 1 << 20,
                {PromptColumn()});
  request_.splits = {"test"};
  const auto splits = ExportView(request_);
  ASSERT_TRUE(splits.ok()) << splits.status();
  const auto prompts = Values<int32_t>(Out("test.prompt_tokens.npy"));
  ASSERT_EQ(prompts.size(), 20u);
  EXPECT_EQ(prompts[6], 0);
  EXPECT_EQ(prompts[7], 1);
  request_.data_dir = folder_.File("data");
  request_.out = folder_.File("without");
  ASSERT_TRUE(ExportView(request_).ok());
  EXPECT_FALSE(FileExists(Out("test.prompt_tokens.npy")));
}

// Their ids would show the hidden tokens.
TEST_F(ExportTest, NoFileHasHiddenTokens) {
  request_.splits = {"test"};
  request_.view.sets = {"target=MASKED"};
  const absl::Status status = ExportView(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("export target=NEXT"));
  EXPECT_FALSE(FileExists(request_.out));
  request_.without_inputs = true;
  EXPECT_TRUE(ExportView(request_).ok());
}

TEST_F(ExportTest, RefusedExportsLeaveNothing) {
  request_.splits = {"train", "dev"};
  EXPECT_FALSE(ExportView(request_).ok());
  EXPECT_FALSE(FileExists(request_.out));
  request_.splits = {"test"};
  ASSERT_TRUE(ExportView(request_).ok());
  EXPECT_THAT(std::string(ExportView(request_).status().message()), HasSubstr(request_.out));
}

}  // namespace
}  // namespace lra
