// Options of attentions: how a plug-in gets them, and how whoever makes an attention by hand does.
#ifndef LRA_MODELS_INTERFACE_OPTIONS_H_
#define LRA_MODELS_INTERFACE_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "lra/plugin_options.h"
#include "models/interface/attention.h"

namespace lra {

// The options of configs/attentions/<name>.textproto with `sets` over them: "field=value", or
// "attention.options.field=value" as `lra train` takes it. They are what AttentionContext::options
// wants. InvalidArgument for an unknown attention or field, and without a config file.
absl::StatusOr<google::protobuf::Any> LoadAttentionOptions(
    absl::string_view name, const std::vector<std::string>& sets = {});

// The factory of LRA_REGISTER_ATTENTION.
template <class Options>
AttentionRegistry::Factory WithOptions(
    absl::string_view name,
    absl::StatusOr<std::unique_ptr<Attention>> (*make)(const Options& options,
                                                       const AttentionContext& context)) {
  return [name = std::string(name),
          make](const AttentionContext& context) -> absl::StatusOr<std::unique_ptr<Attention>> {
    LRA_ASSIGN_OR_RETURN(const Options options,
                         UnpackOptions<Options>("attention", name, context.options));
    return make(options, context);
  };
}

}  // namespace lra

// The last line of a plug-in: make(options, context) is called with options that are complete and
// in their ranges (lra/plugin_options.h); all others are refused before it.
#define LRA_REGISTER_ATTENTION(name, Options, make) \
  LRA_REGISTER(AttentionRegistry, name, WithOptions<Options>(name, make))

#endif  // LRA_MODELS_INTERFACE_OPTIONS_H_
