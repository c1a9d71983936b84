// Names of the blocks that this program has. Free of LibTorch, unlike the registry that they are
// of.
#ifndef LRA_MODELS_BLOCK_NAMES_H_
#define LRA_MODELS_BLOCK_NAMES_H_

#include <string>
#include <vector>

namespace lra {

// BlockRegistry's, sorted.
std::vector<std::string> BlockNames();

}  // namespace lra

#endif  // LRA_MODELS_BLOCK_NAMES_H_
