// LRA_CHECK(condition) << "words"; aborts with file and line. It is for our own bugs only: whatever
// a user or a disk can break is an absl::Status. (The prefix is there because LibTorch's headers
// define CHECK and LOG.)
#ifndef LRA_CHECK_H_
#define LRA_CHECK_H_

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace lra::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    stream_ << file << ":" << line << ": check failed: " << condition << " ";
  }
  [[noreturn]] ~CheckFailure() {
    std::cerr << stream_.str() << std::endl;
    std::abort();
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace lra::internal

#define LRA_CHECK(condition)  \
  if (condition) [[likely]] { \
  } else                      \
    ::lra::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#endif  // LRA_CHECK_H_
