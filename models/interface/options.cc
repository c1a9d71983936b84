#include "models/interface/options.h"

#include "lra/config.h"
#include "lra/unregistered.h"

namespace lra {

absl::StatusOr<google::protobuf::Any> LoadAttentionOptions(absl::string_view name,
                                                           const std::vector<std::string>& sets) {
  if (!AttentionRegistry::Get().Has(name))
    return UnregisteredError("attention", name, AttentionRegistry::Get().Names());
  const absl::StatusOr<AttentionFile> file = LoadAttentionFile(name);
  LRA_RETURN_IF_ERROR(Annotate(file.status(), "configs/attentions"));
  return SetOptions("attention", name, file->attention().options(), sets);
}

}  // namespace lra
