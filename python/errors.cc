// absl::Status -> Python exceptions.
#include <string>

#include "python/bindings.h"

namespace lra {
namespace {

namespace nb = nanobind;

// Paths in a message need not be UTF-8.
nb::object Text(absl::string_view bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
}

void Raise(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const StatusError& error) {
    const nb::object made =
        nb::module_::import_("lra.errors")
            .attr("of_status")(Text(absl::StatusCodeToString(error.status().code())),
                               Text(error.status().message()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

}  // namespace

void BindErrors(nb::module_&) { nb::register_exception_translator(Raise); }

}  // namespace lra
