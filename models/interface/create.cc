#include "models/interface/create.h"

#include "lra/python_attention.h"

namespace lra {

absl::StatusOr<std::unique_ptr<Attention>> CreateAttention(absl::string_view name,
                                                           const AttentionContext& context) {
  const AttentionRegistry& registry = AttentionRegistry::Get();
  if (name == kPythonAttention && !registry.Has(name)) return NeedsPython(context.options);
  return registry.Create("attention", name, context);
}

}  // namespace lra
