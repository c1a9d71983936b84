#include "models/interface/create.h"

#include "absl/strings/str_cat.h"
#include "lra/python_attention.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"

namespace lra {

absl::StatusOr<std::unique_ptr<Attention>> CreateAttention(absl::string_view name,
                                                           const AttentionContext& context) {
  const AttentionRegistry& registry = AttentionRegistry::Get();
  if (name == kPythonAttention && !registry.Has(name)) return NeedsPython(context.options);
  // What is thrown in Python names itself.
  if (name == kPythonAttention) return registry.Create("attention", name, context);
  absl::StatusOr<std::unique_ptr<Attention>> made;
  LRA_RETURN_IF_ERROR(Annotate(CatchTorch([&] {
                                 made = registry.Create("attention", name, context);
                                 return absl::OkStatus();
                               }),
                               absl::StrCat("attention ", name)));
  return made;
}

}  // namespace lra
