// LibTorch seeds its generator from the system's entropy; this gives every test the same start.
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace {

class Seeding : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { at::manual_seed(1); }
};

// Linked into each test program; GoogleTest takes ownership.
[[maybe_unused]] const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seeding);
  return true;
}();

}  // namespace
