// The only place where LibTorch's exceptions become absl::Status.
#ifndef LRA_MODELS_BASE_TORCH_STATUS_H_
#define LRA_MODELS_BASE_TORCH_STATUS_H_

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lra/status_error.h"

namespace lra {

// Runs body() -> absl::Status; a c10::Error becomes Internal, memory exhaustion ResourceExhausted,
// and a StatusError its status.
template <class Body>
absl::Status CatchTorch(Body body) {
  try {
    return body();
  } catch (const StatusError& error) {
    return error.status();
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory: ", error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
  }
}

}  // namespace lra

#endif  // LRA_MODELS_BASE_TORCH_STATUS_H_
