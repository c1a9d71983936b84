#include "datasets/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "datasets/mapped_split.h"
#include "datasets/npy.h"
#include "datasets/split_view.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class DatasetTest : public testing::Test {
 protected:
  // Writes two splits, the first in several shards.
  void Write(const TaskSpec& spec) {
    splits_ = {{"train", RandomExamples(spec, 100, 1)}, {"test", RandomExamples(spec, 20, 2)}};
    manifest_ = WriteTestData(path_, spec, splits_, 800);
  }

  // Overwrites a column and makes the manifest agree, as a faulty writer would.
  template <class T>
  void Rewrite(const std::string& column, const std::vector<T>& values) {
    const std::string name = ShardFileName("test", 0, 1, column);
    const std::string header =
        FormatNpyHeader(NpyTypeOf<T>(), {static_cast<int64_t>(values.size())});
    const std::string bytes = absl::StrCat(
        header,
        absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
    ASSERT_TRUE(WriteFileAtomically(JoinPath(path_, name), bytes).ok());
    for (ManifestFile& file : *manifest_.mutable_splits(1)->mutable_shards(0)->mutable_files()) {
      if (file.name() != name) continue;
      file.set_size_bytes(static_cast<int64_t>(bytes.size()));
      file.set_sha256(Sha256Hex(bytes));
    }
    ASSERT_TRUE(WriteManifest(path_, manifest_).ok());
  }

  absl::Status Open() { return Dataset::Open(path_, {}).status(); }

  const TestFolder folder_;
  const std::string path_ = JoinPath(folder_.path(), "small");
  std::vector<TestSplit> splits_;
  Manifest manifest_;
};

void ExpectHolds(const Dataset& data, const std::vector<TestSplit>& splits, bool is_pair) {
  std::vector<uint16_t> scratch;
  for (const TestSplit& split : splits) {
    const internal::MappedSplit* stored = data.split(split.name);
    ASSERT_NE(stored, nullptr);
    ASSERT_EQ(stored->examples, static_cast<int64_t>(split.examples.size()));
    for (int64_t i = 0; i < stored->examples; ++i) {
      EXPECT_EQ(stored->Tokens(i, &scratch), absl::MakeConstSpan(split.examples[i].tokens));
      EXPECT_EQ(stored->length_tokens(i), static_cast<int64_t>(split.examples[i].tokens.size()));
      EXPECT_EQ(stored->label(i), split.examples[i].label);
      if (is_pair) {
        EXPECT_EQ(stored->Tokens(i, &scratch, 1), absl::MakeConstSpan(split.examples[i].tokens_b));
      }
    }
  }
}

TEST_F(DatasetTest, HoldsWhatWasWritten) {
  for (const auto& [vocabulary, is_pair] :
       std::vector<std::pair<int, bool>>{{16, false}, {256, false}, {257, false}, {5000, true}}) {
    ASSERT_TRUE(RemoveAll(path_).ok());
    Write(SmallSpec(vocabulary, is_pair));
    EXPECT_GT(manifest_.splits(0).shards_size(), 1);
    const auto data = Dataset::Open(path_, {.threads = 2});
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->threads(), 2);
    ExpectHolds(*data, splits_, is_pair);
    const auto tokens =
        MappedNpy::Open(JoinPath(path_, manifest_.splits(0).shards(0).files(0).name()));
    EXPECT_EQ(tokens->header().type, vocabulary <= 256 ? NpyType::kUint8 : NpyType::kUint16);
  }
}

TEST_F(DatasetTest, FingerprintDoesNotDependOnShards) {
  Write(SmallSpec());
  const Manifest other =
      WriteTestData(JoinPath(folder_.path(), "one-shard"), SmallSpec(), splits_, 1 << 20);
  EXPECT_EQ(other.splits(0).shards_size(), 1);
  EXPECT_EQ(other.splits(0).content_fingerprint(), manifest_.splits(0).content_fingerprint());
  EXPECT_NE(other.splits(0).content_fingerprint(), manifest_.splits(1).content_fingerprint());
}

TEST_F(DatasetTest, AFlippedByteInAnyFileIsNamedAndRefused) {
  Write(SmallSpec());
  RandomStream random(5, RandomDomain::kTest, {0, 0, 0});
  const std::vector<std::string> files = FilesOf(path_);
  ASSERT_GE(files.size(), 10u);
  for (const std::string& file : files) {
    for (int i = 0; i < 5; ++i) {
      const size_t position = random.Below(static_cast<uint32_t>(*FileSizeBytes(file)));
      FlipByte(file, position);
      const absl::Status status = Open();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << file << " at " << position;
      EXPECT_THAT(std::string(status.message()), HasSubstr(file)) << position;
      FlipByte(file, position);
    }
  }
  EXPECT_TRUE(Open().ok());
}

TEST_F(DatasetTest, ShortenedEmptyAndMissingFilesAreNamed) {
  Write(SmallSpec());
  for (const std::string& file : FilesOf(path_)) {
    const std::string bytes = *ReadFile(file);
    for (size_t size : {bytes.size() - 1, bytes.size() / 2, size_t{0}}) {
      OverwriteFile(file, bytes.substr(0, size));
      const absl::Status status = Open();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << file;
      EXPECT_THAT(std::string(status.message()), HasSubstr(file));
    }
    ASSERT_TRUE(RemoveAll(file).ok());
    const absl::Status status = Open();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::filesystem::path(file).filename()));
    OverwriteFile(file, bytes);
  }
}

TEST_F(DatasetTest, OnlyTheSplitsThatAreOpenedAreHashed) {
  Write(SmallSpec());
  FlipByte(JoinPath(path_, "test-00000-of-00001.tokens.npy"), 200);
  EXPECT_TRUE(Dataset::Open(path_, {.splits = {"train"}}).ok());
  EXPECT_FALSE(Dataset::Open(path_, {.splits = {"train", "test"}}).ok());
}

TEST_F(DatasetTest, ValuesAreCheckedEvenUnderAGoodHash) {
  Write(SmallSpec());
  const auto data = Dataset::Open(path_, {});
  const internal::MappedShard& shard = data->split("test")->shards[0];
  const auto copy = [](auto span) {
    return std::vector<std::decay_t<decltype(span[0])>>(span.begin(), span.end());
  };
  const std::vector<uint8_t> tokens = copy(shard.columns[0].tokens.values<uint8_t>());
  const std::vector<int64_t> offsets = copy(shard.columns[0].offsets.values<int64_t>());
  const std::vector<int32_t> labels = copy(shard.labels.values<int32_t>());
  const auto expect = [&](const std::string& words) {
    const absl::Status status = Open();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    Rewrite("tokens", tokens);
    Rewrite("offsets", offsets);
    Rewrite("labels", labels);
    ASSERT_TRUE(Open().ok());
  };
  const auto with = [](auto values, size_t place, auto value) {
    values[place] = value;
    return values;
  };
  Rewrite("tokens", with(tokens, 7, 16));
  expect("token 7 is 16; 1 to 15 are allowed");
  Rewrite("tokens", with(tokens, 3, 0));
  expect("token 3 is 0");
  Rewrite("labels", with(labels, 2, 3));
  expect("label 2 is 3; 0 to 2 are allowed");
  Rewrite("labels", with(labels, 4, -1));
  expect("label 4 is -1");
  Rewrite("labels", std::vector<int32_t>(19, 0));
  expect("19 labels for 20 examples");
  Rewrite("labels", std::vector<int64_t>(20, 0));
  expect("holds <i8 in 1 dimensions, not <i4");
  Rewrite("offsets", with(offsets, 5, offsets[6]));
  expect("example 5 has tokens");
  Rewrite("offsets", with(offsets, 5, offsets[4] - 1));
  expect("example 4 has tokens");
  Rewrite("offsets", with(offsets, 5, int64_t{1} << 62));
  expect("example 4 has tokens");
  Rewrite("offsets", with(offsets, 0, int64_t{1}));
  expect("runs from 1 to");
  Rewrite("offsets", std::vector<int64_t>(offsets.begin(), offsets.end() - 1));
  expect("20 offsets for 20 examples");
  manifest_.mutable_spec()->set_max_length_tokens(10);
  ASSERT_TRUE(WriteManifest(path_, manifest_).ok());
  EXPECT_THAT(std::string(Open().message()),
              HasSubstr("a length of 1 to 10 is allowed, by spec.max_length_tokens"));
}

// A number of given tokens below 0 or above the length would lead out of a batch.
TEST_F(DatasetTest, NoMoreTokensAreGivenThanAnExampleHas) {
  // Opens two examples, of three tokens and one, with these values of the column.
  const auto open = [&](const std::vector<int16_t>& first, const std::vector<int16_t>& second) {
    LRA_CHECK(RemoveAll(path_).ok());
    const EncodedExample three{{1, 2, 3}, {}, 0, first}, one{{4}, {}, 0, second};
    WriteTestData(path_, SmallSpec(), {{"test", {three, one}}}, 1 << 20,
                  {PromptColumn(static_cast<int32_t>(first.size()))});
    return Open();
  };
  EXPECT_TRUE(open({3}, {0}).ok()) << open({3}, {0});
  const auto expect = [](const absl::Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(
        std::string(status.message()),
        testing::AllOf(HasSubstr("test-00000-of-00001.prompt_tokens.npy: "), HasSubstr(words)));
  };
  expect(open({-1}, {0}), "example 0 has the value -1; 0 to its 3 tokens are allowed");
  expect(open({3}, {2}), "example 1 has the value 2; 0 to its 1 tokens are allowed");
  expect(open({1, 1}, {1, 1}), "has 4 values for 2 examples; one each is allowed");
}

TEST_F(DatasetTest, SaysHowToGetWhatIsNotThere) {
  const absl::Status missing = Open();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("lra data list says what there is and how to make it"));
  EXPECT_EQ(HowToMake("listops", "d"), "make one with: lra data prepare listops --out d");
  EXPECT_EQ(HowToMake("mnist_pixels", "d"),
            "make one with: lra data prepare mnist_pixels --raw PATH --out d");
  Write(SmallSpec());
  const absl::Status split = Dataset::Open(path_, {.splits = {"validation"}}).status();
  EXPECT_EQ(split.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(split.message(),
            absl::StrCat(path_,
                         " has no split \"validation\"; it has train, test; validation is cut "
                         "from train by the view: --split train shows what is stored, lra "
                         "data export what a run reads"));
  const absl::Status misspelt = Dataset::Open(path_, {.splits = {"tests"}}).status();
  EXPECT_EQ(misspelt.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(misspelt.message()), HasSubstr("did you mean \"test\""));
}

// No command puts one split beside those that are there.
TEST_F(DatasetTest, ASplitThatNoViewCutsHasNoAdviceToReplaceTheData) {
  const std::vector<EncodedExample> examples(10, EncodedExample{{1, 2, 3}, {}, 0, {}});
  const auto no_train = [&](const std::string& stored) {
    LRA_CHECK(RemoveAll(path_).ok());
    WriteTestData(path_, SmallSpec(), {{stored, examples}});
    return std::string(Dataset::Open(path_, {.splits = {"train"}}).status().message());
  };
  EXPECT_THAT(no_train("test"), testing::AllOf(HasSubstr("no split \"train\"; it has test; "),
                                               testing::Not(HasSubstr("--force")),
                                               testing::Not(HasSubstr("is cut from"))));
  EXPECT_THAT(no_train("all"), HasSubstr("it has all; train is cut from all by the view"));
}

// A manifest with a correct seal and arbitrary text must give an answer or an error, never a crash.
TEST_F(DatasetTest, SurvivesAnyManifest) {
  Write(SmallSpec());
  const std::string path = JoinPath(path_, kManifestFile);
  const std::string sealed = *ReadFile(path);
  const std::string text = sealed.substr(0, sealed.rfind("# sha256"));
  RandomStream random(6, RandomDomain::kTest, {0, 0, 0});
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = text;
    if (i % 3 == 0) {
      bytes.resize(random.Below(static_cast<uint32_t>(text.size())));
      bytes += "\n";
    }
    for (int64_t flips = random.Between(1, 2); flips > 0; --flips) {
      bytes[random.Below(static_cast<uint32_t>(bytes.size()))] =
          static_cast<char>(random.Below(2) == 0 ? '0' + random.Below(10) : random.Below(256));
    }
    OverwriteFile(path, absl::StrCat(bytes, "# sha256: ", Sha256Hex(bytes), "\n"));
    const absl::Status status = Open();
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDataLoss) << status;
    refused += !status.ok();
  }
  EXPECT_GT(refused, 200);
}

TEST_F(DatasetTest, ManifestRulesNameTheField) {
  Write(SmallSpec());
  const auto message = [&](auto change) {
    Manifest manifest = manifest_;
    change(&manifest);
    return std::string(ValidateManifest(manifest, "m").message());
  };
  const auto file = [](Manifest* m) {
    return m->mutable_splits(0)->mutable_shards(0)->mutable_files(0);
  };
  EXPECT_EQ(message([](Manifest*) {}), "");
  EXPECT_THAT(message([](Manifest* m) { m->set_format_version(2); }),
              HasSubstr("format_version is 2"));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_spec()->set_vocabulary_size(1); }),
              HasSubstr("vocabulary_size is 1"));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_spec()->set_classes(0); }),
              HasSubstr("classes is 0"));
  EXPECT_THAT(message([](Manifest* m) { m->clear_splits(); }), HasSubstr("no splits"));
  EXPECT_THAT(message([](Manifest* m) { m->add_class_names("a"); }),
              HasSubstr("class_names has 1 names for 3 classes; give one for each class, or none"));
  const auto name_all = [](Manifest* m) {
    for (const char* name : {"a", "b", "c"}) m->add_class_names(name);
  };
  EXPECT_EQ(message(name_all), "");
  EXPECT_THAT(message([](Manifest* m) { m->set_origin("found"); }),
              HasSubstr("origin is \"found\""));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_splits(1)->set_name("train"); }),
              HasSubstr("split train occurs twice"));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_splits(0)->set_name("../x"); }),
              HasSubstr("unknown split"));
  EXPECT_THAT(message([&](Manifest* m) { file(m)->set_name("../../etc/passwd"); }),
              HasSubstr("is not named train-00000-of-"));
  EXPECT_THAT(message([&](Manifest* m) { file(m)->set_name("train-00000-of-00004.to/kens.npy"); }),
              HasSubstr("is not named"));
  EXPECT_THAT(message([&](Manifest* m) { file(m)->set_sha256("abc"); }),
              HasSubstr("sha256 is not 64"));
  EXPECT_THAT(message([](Manifest* m) {
                m->mutable_splits(0)->mutable_shards(0)->mutable_files()->RemoveLast();
              }),
              HasSubstr("lacks the file"));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_splits(0)->set_examples(99); }),
              HasSubstr("has 99 examples, its shards have 100"));
  EXPECT_THAT(message([](Manifest* m) { m->mutable_splits(0)->set_label_count(0, 1); }),
              HasSubstr("label counts of split train add up to"));
  EXPECT_THAT(
      message([](Manifest* m) { m->mutable_splits(0)->add_label_count(0); }),
      HasSubstr("split train has 4 label counts for 3 classes; labels are 0 to classes - 1"));
}

class SplitViewTest : public testing::Test {
 protected:
  SplitViewTest() {
    WriteTestData(folder_.path() + "/d", SmallSpec(),
                  {{"train", {{{1, 15, 2, 15, 3}, {}, 1}, {{4, 5}, {}, 2}, {{6, 15, 15}, {}, 0}}}});
    data_ = *Dataset::Open(folder_.path() + "/d", {});
  }
  std::vector<int32_t> Read(const SplitView& view, int64_t example) {
    std::vector<int32_t> tokens = {99};
    view.Read(example, &tokens);
    EXPECT_EQ(static_cast<int32_t>(tokens.size()), view.length_tokens(example));
    return tokens;
  }
  const TestFolder folder_;
  Dataset data_;
};

TEST_F(SplitViewTest, KeepsDropsAndCuts) {
  DataView view;
  SplitView split = *SplitView::Create(data_, "train", view);
  EXPECT_THAT(Read(split, 0), ElementsAre(1, 15, 2, 15, 3));
  EXPECT_EQ(split.max_length_tokens(), 5);
  EXPECT_EQ(split.label(1), 2);
  view.set_max_length_tokens(2);
  split = *SplitView::Create(data_, "train", view);
  EXPECT_THAT(Read(split, 0), ElementsAre(1, 15));
  EXPECT_EQ(split.max_length_tokens(), 2);
  view.set_brackets(DataView::NONE);
  split = *SplitView::Create(data_, "train", view);
  EXPECT_THAT(Read(split, 0), ElementsAre(1, 2));
  EXPECT_THAT(Read(split, 1), ElementsAre(4, 5));
  EXPECT_THAT(Read(split, 2), ElementsAre(6));
}

TEST_F(SplitViewTest, RefusesViewsThatTheDataCannotServe) {
  EXPECT_EQ(SplitView::Create(data_, "test", DataView()).status().code(),
            absl::StatusCode::kNotFound);
  TaskSpec spec = SmallSpec();
  spec.clear_close_bracket_id();
  WriteTestData(folder_.path() + "/plain", spec, {{"train", {{{1}, {}, 1}}}});
  DataView view;
  view.set_brackets(DataView::NONE);
  const auto refused =
      SplitView::Create(*Dataset::Open(folder_.path() + "/plain", {}), "train", view).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("view.brackets"));
}

}  // namespace
}  // namespace lra
