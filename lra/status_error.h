// A status as an exception, for errors on their way through code that knows exceptions only:
// LibTorch, which may call code that fails (models/base/torch_status.h catches it), and Python.
#ifndef LRA_STATUS_ERROR_H_
#define LRA_STATUS_ERROR_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace lra {

class StatusError : public std::exception {
 public:
  explicit StatusError(absl::Status status)
      : status_(std::move(status)), text_(status_.message()) {}
  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  absl::Status status_;
  std::string text_;
};

}  // namespace lra

#endif  // LRA_STATUS_ERROR_H_
