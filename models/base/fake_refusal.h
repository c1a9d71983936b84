// Graphs that the fake device refuses, for tests of what a refusal leaves.
#ifndef LRA_MODELS_BASE_FAKE_REFUSAL_H_
#define LRA_MODELS_BASE_FAKE_REFUSAL_H_

namespace lra {

// While one lives, no capture on the fake device succeeds: each throws c10::Error when all of its
// work was asked for, as CUDA does when it ends a capture that has become invalid.
class FakeGraphRefusal {
 public:
  FakeGraphRefusal();
  ~FakeGraphRefusal();
  FakeGraphRefusal(const FakeGraphRefusal&) = delete;
  FakeGraphRefusal& operator=(const FakeGraphRefusal&) = delete;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_FAKE_REFUSAL_H_
