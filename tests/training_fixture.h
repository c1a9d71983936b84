// A fixture with small ListOps data in a folder of its own, and requests to train on it.
#ifndef LRA_TESTS_TRAINING_FIXTURE_H_
#define LRA_TESTS_TRAINING_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/prepare.h"
#include "train/run.h"

namespace lra {

class TrainerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    own_ = std::make_unique<TestFolder>();
    folder_ = &own_->path();
    ASSERT_TRUE(PrepareListOps(*folder_ + "/data", 48).ok());
  }

  static void TearDownTestSuite() {
    folder_ = nullptr;
    own_.reset();
  }

  // Short expressions, 40 each for validation and test.
  static absl::Status PrepareListOps(const std::string& out, int train_examples) {
    PrepareOptions options;
    options.task = "listops";
    options.out = out;
    options.quiet = true;
    options.set = {"min_length_tokens=4",
                   "max_length_tokens=40",
                   "max_depth=4",
                   absl::StrCat("train_examples=", train_examples),
                   "validation_examples=40",
                   "test_examples=40"};
    return Prepare(options).status();
  }

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

  static inline const std::string* folder_ = nullptr;

 private:
  static inline std::unique_ptr<TestFolder> own_;
};

}  // namespace lra

#endif  // LRA_TESTS_TRAINING_FIXTURE_H_
