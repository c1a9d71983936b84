#include "ranks/ranks.h"

#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "ranks/ranks_test_util.h"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"

namespace lra {
namespace {

using ::testing::HasSubstr;

at::Tensor Floats(const std::vector<float>& values) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::kFloat)
      .clone();
}

std::vector<float> ValuesOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

TEST(Ranks, OneIsAlone) {
  Ranks ranks;
  EXPECT_TRUE(ranks.is_alone());
  EXPECT_TRUE(ranks.is_first());
  const at::Tensor values = Floats({1, 2});
  EXPECT_TRUE(ranks.Sum({values}).ok());
  EXPECT_EQ(ValuesOf(values), (std::vector<float>{1, 2}));
  EXPECT_EQ(ranks.Gather(values)->sizes(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*ranks.Share("x"), "x");
  EXPECT_TRUE(absl::IsNotFound(ranks.Agree(absl::NotFoundError("no"))));
}

TEST(Ranks, AddUp) {
  WithRanks(3, [](Ranks& ranks) {
    const at::Tensor values = Floats({static_cast<float>(ranks.rank()), 10});
    ASSERT_TRUE(ranks.Sum({values}).ok());
    EXPECT_EQ(ValuesOf(values), (std::vector<float>{3, 30}));
  });
}

// torchrun's agent keeps the store, and keeps it when it starts the processes anew.
TEST(Ranks, MeetInAStoreThatIsThere) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(FreePort());
  options.isServer = true;
  options.waitWorkers = false;
  const auto agent = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const auto body = [](Ranks& ranks) {
    EXPECT_EQ(*ranks.Share(ranks.is_first() ? "met" : ""), "met");
  };
  WithRanks(2, body, options.port);
}

TEST(Ranks, KnowWhoSharesTheirCards) {
  const auto body = [](Ranks& ranks) {
    EXPECT_EQ(ranks.card_sharers(), 2) << "rank " << ranks.rank();
  };
  WithRanks(3, body, 0, {"0", "1", "0"});
  EXPECT_EQ(Ranks().card_sharers(), 1);
}

TEST(Ranks, GatherInOrder) {
  WithRanks(3, [](Ranks& ranks) {
    const auto all = ranks.Gather(Floats({static_cast<float>(ranks.rank()), 7}));
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->sizes(), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(ValuesOf(*all), (std::vector<float>{0, 7, 1, 7, 2, 7}));
  });
}

TEST(Ranks, ShareWhatTheFirstHas) {
  WithRanks(2, [](Ranks& ranks) {
    const at::Tensor values = Floats({static_cast<float>(ranks.rank() + 5)});
    ASSERT_TRUE(ranks.Share(values).ok());
    EXPECT_EQ(ValuesOf(values), std::vector<float>{5});
    EXPECT_EQ(*ranks.Share(ranks.is_first() ? std::string("a\0b", 3) : "ignored"),
              std::string("a\0b", 3));
    EXPECT_EQ(*ranks.Share(ranks.is_first() ? "" : "ignored"), "");
  });
}

TEST(Ranks, AgreeOnTheFirstError) {
  WithRanks(3, [](Ranks& ranks) {
    EXPECT_TRUE(ranks.Agree(absl::OkStatus()).ok());
    const absl::Status mine = ranks.rank() == 1 ? absl::NotFoundError("mine") : absl::OkStatus();
    const absl::Status agreed = ranks.Agree(mine);
    EXPECT_TRUE(absl::IsNotFound(agreed));
    EXPECT_THAT(std::string(agreed.message()),
                HasSubstr(ranks.rank() == 1 ? "mine" : "rank 1 of 3 stopped"));
  });
}

TEST(Ranks, SayWhereTheyCouldNotMeet) {
  const Launch launch = {"torchrun", 1, 2, 1, 2, "127.0.0.1", FreePort()};
  const auto ranks = Ranks::Join(launch, std::chrono::seconds(2));
  EXPECT_TRUE(absl::IsUnavailable(ranks.status()));
  EXPECT_THAT(std::string(ranks.status().message()),
              HasSubstr("rank 1 of 2 (torchrun) did not meet the others at 127.0.0.1:"));
}

}  // namespace
}  // namespace lra
