// What the parts of the extension module lra._lra share. It is what the Python package lra is made
// of and no interface: docs/python.md. Without LibTorch.
#ifndef LRA_PYTHON_BINDINGS_H_
#define LRA_PYTHON_BINDINGS_H_

#include <nanobind/nanobind.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lra/status_error.h"

namespace lra {

// The value, or the error as an exception; python/lra/errors.py says which one Python sees. Needs
// no GIL.
template <class T>
T ValueOrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return *std::move(result);
}

inline void OkOrThrow(const absl::Status& status) {
  if (!status.ok()) throw StatusError(status);
}

// What reads files or computes lets other Python threads run.
using ReleasesGil = nanobind::call_guard<nanobind::gil_scoped_release>;

void BindErrors(nanobind::module_& module);
void BindConfig(nanobind::module_& module);
void BindData(nanobind::module_& module);
void BindLoader(nanobind::module_& module);
void BindRecords(nanobind::module_& module);

}  // namespace lra

#endif  // LRA_PYTHON_BINDINGS_H_
