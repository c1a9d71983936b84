// For tests on the fake device.
#ifndef LRA_MODELS_BASE_FAKE_DEVICE_TEST_UTIL_H_
#define LRA_MODELS_BASE_FAKE_DEVICE_TEST_UTIL_H_

#include <c10/util/Exception.h>

#include <functional>
#include <string>

namespace lra {

// The message of the c10::Error that the call throws; empty if it throws none.
inline std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

}  // namespace lra

#endif  // LRA_MODELS_BASE_FAKE_DEVICE_TEST_UTIL_H_
