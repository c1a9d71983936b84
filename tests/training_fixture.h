// A fixture with small ListOps data in a folder of its own, and requests to train on it.
#ifndef LRA_TESTS_TRAINING_FIXTURE_H_
#define LRA_TESTS_TRAINING_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lra/config.h"
#include "tasks/prepare.h"
#include "train/run.h"

namespace lra {

class TrainerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string suite = testing::UnitTest::GetInstance()->current_test_suite()->name();
    std::replace(suite.begin(), suite.end(), '/', '-');
    folder_ = new std::string(testing::TempDir() + "/training-" + suite);
    std::filesystem::remove_all(*folder_);
    PrepareOptions options;
    options.task = "listops";
    options.out = *folder_ + "/data";
    options.quiet = true;
    options.set = {"min_length_tokens=4", "max_length_tokens=40",   "max_depth=4",
                   "train_examples=48",   "validation_examples=40", "test_examples=40"};
    const auto result = Prepare(options);
    ASSERT_TRUE(result.ok()) << result.status();
  }

  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static TrainRequest Request(const std::string& name, const std::string& attention,
                              const std::vector<std::string>& sets) {
    ConfigBuilder builder("listops");
    EXPECT_TRUE(builder.AddProtocol("fair").ok());
    EXPECT_TRUE(builder.AddPreset("smoke").ok());
    EXPECT_TRUE(builder.AddAttention(attention).ok());
    for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
    TrainRequest request;
    const absl::StatusOr<ResolvedConfig> resolved = builder.Build();
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    request.resolved = *resolved;
    request.runtime.set_quiet(true);
    request.runtime.set_data_dir(*folder_ + "/data");
    request.runtime.set_out_dir(*folder_ + "/" + name);
    return request;
  }

  static inline std::string* folder_ = nullptr;
};

}  // namespace lra

#endif  // LRA_TESTS_TRAINING_FIXTURE_H_
