// Tensors between C++ and Python: the same tensor on both sides, gradients included.
#ifndef LRA_PYTHON_TRAINER_TENSORS_H_
#define LRA_PYTHON_TRAINER_TENSORS_H_

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>

#include <optional>

namespace lra {

// None for an undefined tensor. Needs the GIL.
nanobind::object ToPython(const at::Tensor& tensor);

// nullopt where the object is no tensor. Needs the GIL.
std::optional<at::Tensor> ToTensor(nanobind::handle object);

}  // namespace lra

#endif  // LRA_PYTHON_TRAINER_TENSORS_H_
