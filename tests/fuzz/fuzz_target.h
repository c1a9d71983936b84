// One source makes two programs: LRA_FUZZ_TARGET(name) { ... input ... } is libFuzzer's entry point
// in a fuzzing build (-DLRA_FUZZ=ON, tests/fuzz/run.sh). Otherwise it registers itself with the
// test fuzz_corpus, which replays tests/fuzz/corpus/<name>/. A target asserts with LRA_CHECK.
#ifndef LRA_TESTS_FUZZ_FUZZ_TARGET_H_
#define LRA_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "lra/check.h"

namespace lra {

using FuzzFunction = void (*)(absl::string_view input);

// The targets by name.
inline std::map<std::string, FuzzFunction>& FuzzTargets() {
  static auto* const targets = new std::map<std::string, FuzzFunction>;
  return *targets;
}

// Takes numbers off the front of an input; gives 0 when the input is used up.
inline uint8_t TakeByte(absl::string_view* input) {
  if (input->empty()) return 0;
  const auto byte = static_cast<uint8_t>((*input)[0]);
  input->remove_prefix(1);
  return byte;
}

}  // namespace lra

#ifdef LRA_FUZZER
#define LRA_FUZZ_TARGET(name)                                                  \
  static void Fuzz_##name(absl::string_view input);                            \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {    \
    Fuzz_##name(absl::string_view(reinterpret_cast<const char*>(data), size)); \
    return 0;                                                                  \
  }                                                                            \
  static void Fuzz_##name(absl::string_view input)
#else
#define LRA_FUZZ_TARGET(name)                                   \
  static void Fuzz_##name(absl::string_view input);             \
  [[maybe_unused]] static const bool is_registered_##name =     \
      ::lra::FuzzTargets().emplace(#name, &Fuzz_##name).second; \
  static void Fuzz_##name(absl::string_view input)
#endif

#endif  // LRA_TESTS_FUZZ_FUZZ_TARGET_H_
