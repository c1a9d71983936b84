#include "models/interface/attend.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lra/status_error.h"

namespace lra {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Gives the output that it was made with, whatever its input.
class GivesOutput : public Attention {
 public:
  explicit GivesOutput(at::Tensor output) : output_(std::move(output)) {
    traits_.label = "Mine";
    traits_.supports_streaming = true;
  }
  const Traits& traits() const override { return traits_; }
  at::Tensor Attend(const AttentionInput&) const override { return output_; }
  at::Tensor Oracle(const AttentionInput&) const override { return output_; }
  at::Tensor Extend(const AttentionInput&, AttentionState*) const override { return output_; }

 private:
  Traits traits_;
  const at::Tensor output_;
};

// What is said of this output for B = 2, H = 3, N = 5, D = 4, all at once or in a stream; empty
// where it is taken.
std::string WordsAboutOutput(const at::Tensor& output, bool is_stream = false) {
  const GivesOutput attention(output);
  AttentionInput input;
  input.q = input.k = input.v = at::zeros({2, 3, 5, 4});
  AttentionState state;
  try {
    if (is_stream) {
      ExtendWithoutAutocast(attention, input, &state);
    } else {
      AttendWithoutAutocast(attention, input);
    }
  } catch (const StatusError& error) {
    EXPECT_EQ(error.status().code(), absl::StatusCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(CheckOutputTest, TakesTheShapeTypeAndDeviceOfTheQueries) {
  for (const bool is_stream : {false, true})
    EXPECT_EQ(WordsAboutOutput(at::zeros({2, 3, 5, 4}), is_stream), "");
}

// The first has as many numbers as the right one, in another order.
TEST(CheckOutputTest, NamesTheAttentionWhatItGaveAndWhatIsRight) {
  for (const bool is_stream : {false, true}) {
    EXPECT_EQ(WordsAboutOutput(at::zeros({2, 5, 3, 4}), is_stream),
              "Mine: its output is [2, 5, 3, 4] Float on cpu, must be [B, H, N, D] = "
              "[2, 3, 5, 4] Float on cpu");
    for (const at::Tensor& wrong :
         {at::zeros({2, 3, 5, 5}), at::zeros({2, 3, 5, 3}), at::zeros({2, 5, 12}),
          at::zeros({2, 3, 5, 4}, at::kDouble), at::zeros({2, 3, 5, 4}).to(at::kMeta)}) {
      EXPECT_THAT(WordsAboutOutput(wrong, is_stream), EndsWith(" = [2, 3, 5, 4] Float on cpu"));
    }
  }
  EXPECT_THAT(WordsAboutOutput(at::zeros({2, 3, 5, 4}, at::kDouble)),
              HasSubstr("its output is [2, 3, 5, 4] Double on cpu"));
  EXPECT_THAT(WordsAboutOutput(at::Tensor()), HasSubstr("its output is undefined"));
}

// Values may be wider than queries and keys.
TEST(CheckOutputTest, TheOutputIsAsWideAsTheValues) {
  AttentionInput input;
  input.q = input.k = at::zeros({1, 1, 2, 3});
  input.v = at::zeros({1, 1, 2, 7});
  const GivesOutput attention{at::Tensor()};
  EXPECT_NO_THROW(CheckOutput(attention, input, at::zeros({1, 1, 2, 7})));
  EXPECT_THROW(CheckOutput(attention, input, at::zeros({1, 1, 2, 3})), StatusError);
}

}  // namespace
}  // namespace lra
