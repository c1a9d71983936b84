#include "python/trainer/tensors.h"

#include <torch/csrc/autograd/python_variable.h>

namespace lra {

namespace nb = nanobind;

nb::object ToPython(const at::Tensor& tensor) { return nb::steal(THPVariable_Wrap(tensor)); }

std::optional<at::Tensor> ToTensor(nb::handle object) {
  if (!THPVariable_Check(object.ptr())) return std::nullopt;
  return THPVariable_Unpack(object.ptr());
}

}  // namespace lra
