// The extension module lra._lra.
#include "lra/version.h"
#include "python/bindings.h"

NB_MODULE(_lra, module) {
  module.doc() =
      "What lra is made of: configurations, data, batches, records. Use the package lra.";
  module.attr("__version__") = LRA_VERSION;
  module.attr("torch_version") = LRA_TORCH_VERSION;  // of lra._trainer; "" = there is none
  lra::BindErrors(module);
  lra::BindConfig(module);
  lra::BindData(module);
  lra::BindLoader(module);
  lra::BindRecords(module);
}
