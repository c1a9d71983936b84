// Names of the attentions that this program has. Free of LibTorch, unlike the registry that they
// are of.
#ifndef LRA_MODELS_ATTENTION_NAMES_H_
#define LRA_MODELS_ATTENTION_NAMES_H_

#include <string>
#include <vector>

namespace lra {

// AttentionRegistry's, sorted.
std::vector<std::string> AttentionNames();

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_NAMES_H_
